CPUs 1
+ rcu_nocbs=1
+ irqaffinity=0
= isolcpus=1
= nohz_full=1
note: a reboot with other arguments may not come up: be able to edit them at boot, or have a second entry
place: none
