CPUs 2-3
+ isolcpus=managed_irq,domain,2-3
+ nohz_full=2-3
+ rcu_nocbs=2-3
+ irqaffinity=0-1
+ preempt=full
note: whether this kernel is built with CONFIG_NO_HZ_FULL is not known: without, nohz_full= does nothing
note: whether this kernel is built with CONFIG_RCU_NOCB_CPU is not known: without, rcu_nocbs= does nothing
note: a reboot with other arguments may not come up: be able to edit them at boot, or have a second entry
place: none
