CPUs 1-3
- rcu_nocbs=0
+ rcu_nocbs=1-3
+ irqaffinity=0
= isolcpus=1-3
= nohz_full=1-3
= dwc_otg.fiq_enable=0
= dwc_otg.fiq_fsm_enable=0
note: dwg_otg.speed=1 looks like dwc_otg.speed: remove dwg_otg.speed=1 (dwc_otg.speed=1 would limit USB, and Ethernet that is connected by it, to 12 Mbit/s)
note: a reboot with other arguments may not come up: be able to edit them at boot, or have a second entry
place: /boot/cmdline.txt (all in its one line), then reboot
