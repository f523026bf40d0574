CPUs 1-3
- rcu_nocbs=0
+ rcu_nocbs=1-3
+ irqaffinity=0
= isolcpus=1-3
= nohz_full=1-3
note: a reboot with other arguments may not come up: be able to edit them at boot, or have a second entry
place: /boot/cmdline.txt (all in its one line), then reboot
