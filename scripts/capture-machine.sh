#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Prints the files of this machine that `teiji check` and `teiji tune` read, as a tree for its tests: each as '=== PATH' and its text.
# Runs in any shell, on a board or in a guest too. What a file says of its user, such as names of hosts, is left as it is: read it first.
set -u
root=${1:-}

print() {
    [ -f "$root/$1" ] && [ -r "$root/$1" ] || return 0
    echo "=== $1"
    # The last line of some files has no end, which awk gives it.
    tr -d '\000' <"$root/$1" 2>/dev/null | awk 1
}

for file in proc/version proc/cmdline proc/stat proc/interrupts proc/cpuinfo proc/swaps proc/self/cgroup proc/self/limits proc/self/status \
    proc/self/uid_map proc/2/comm proc/xen/capabilities etc/os-release \
    proc/sys/kernel/arch proc/sys/kernel/osrelease proc/sys/kernel/sched_rt_runtime_us proc/sys/kernel/sched_rt_period_us \
    proc/sys/kernel/nmi_watchdog proc/sys/kernel/soft_watchdog proc/sys/kernel/watchdog proc/sys/kernel/watchdog_cpumask proc/sys/kernel/timer_migration \
    proc/sys/kernel/numa_balancing proc/sys/vm/stat_interval proc/sys/vm/compaction_proactiveness proc/irq/default_smp_affinity \
    proc/device-tree/model proc/xenomai/version proc/xenomai/latency sys/kernel/realtime sys/kernel/debug/sched/preempt \
    sys/kernel/mm/transparent_hugepage/enabled sys/kernel/mm/ksm/run sys/hypervisor/type sys/class/dmi/id/sys_vendor \
    sys/class/dmi/id/product_name sys/class/dmi/id/bios_vendor proc/device-tree/hypervisor/compatible \
    run/.containerenv run/host/container-manager run/systemd/container run/systemd/timesync/synchronized \
    etc/tuned/active_profile etc/tlp.conf etc/security/limits.conf etc/chrony/chrony.conf etc/chrony.conf etc/ntp.conf etc/ntpsec/ntp.conf \
    sys/devices/system/cpu/cpuidle/current_driver sys/devices/system/cpu/smt/control sys/kernel/security/lockdown \
    sys/devices/virtual/workqueue/cpumask sys/devices/system/cpu/intel_pstate/no_turbo sys/devices/system/cpu/cpufreq/boost \
    sys/devices/system/cpu/cpuidle/current_driver \
    sys/devices/virtual/workqueue/cpumask sys/devices/virtual/workqueue/cpumask_requested sys/devices/system/cpu/intel_pstate/no_turbo sys/devices/system/cpu/cpufreq/boost \
    sys/devices/platform/soc/soc:firmware/get_throttled sys/module/xenomai/parameters/allowed_group \
    sys/module/dwc_otg/parameters/fiq_enable sys/module/dwc_otg/parameters/fiq_fsm_enable sys/module/xenomai/parameters/smi sys/module/xenomai/parameters/state proc/xenomai/affinity \
    sys/devices/virtual/clock/monotonic/gravity boot/config.txt boot/firmware/config.txt etc/default/irqbalance etc/sysconfig/irqbalance \
    proc/self/timerslack_ns proc/timer_list sys/fs/cgroup/cpuset.cpus.isolated sys/fs/cgroup/cpuset.cpus.effective \
    boot/cmdline.txt boot/firmware/cmdline.txt etc/default/grub etc/kernel/cmdline; do
    print "$file"
done
cd "$root/" || exit 1
for file in proc/irq/*/smp_affinity_list proc/irq/*/effective_affinity_list sys/devices/system/cpu/online sys/devices/system/cpu/possible \
    sys/devices/system/cpu/isolated sys/devices/system/cpu/nohz_full sys/devices/system/clocksource/clocksource0/current_clocksource \
    sys/devices/system/clocksource/clocksource0/available_clocksource \
    sys/devices/system/cpu/vulnerabilities/* sys/devices/system/cpu/cpu*/cpufreq/scaling_governor \
    sys/devices/system/cpu/cpu*/cpufreq/scaling_m*_freq sys/devices/system/cpu/cpu*/cpufreq/scaling_available_governors \
    sys/devices/system/cpu/cpu*/cpufreq/scaling_setspeed sys/fs/cgroup/cgroup.controllers sys/fs/cgroup/cgroup.subtree_control \
    sys/kernel/debug/sched/fair_server/cpu*/* sys/kernel/debug/irq/irqs/[0-9]* sys/fs/cgroup/cpu/cpu.rt_*_us sys/fs/cgroup/cpu/*/cpu.rt_*_us \
    sys/fs/cgroup/*/cpu.weight sys/fs/cgroup/*/cgroup.procs sys/fs/cgroup/*/cpuset.cpus* sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq \
    sys/devices/system/cpu/cpu*/cpuidle/state*/name sys/devices/system/cpu/cpu*/cpuidle/state*/latency \
    sys/devices/system/cpu/cpu*/cpuidle/state*/disable sys/devices/system/cpu/cpu*/topology/thread_siblings_list \
    sys/devices/system/cpu/cpu*/cpu_capacity sys/devices/system/cpu/cpu*/cache/index*/level \
    sys/devices/system/cpu/cpu*/cache/index*/shared_cpu_list sys/devices/cpu_atom/cpus sys/devices/system/cpu/cpuidle/current_driver \
    sys/class/power_supply/*/type sys/class/power_supply/*/status sys/class/thermal/thermal_zone*/temp \
    sys/class/thermal/thermal_zone*/trip_point_*_t* sys/class/evl/control/* sys/class/thermal/thermal_zone*/type \
    sys/class/hwmon/hwmon*/name sys/class/hwmon/hwmon*/temp*_input sys/class/hwmon/hwmon*/temp*_crit \
    sys/class/hwmon/hwmon*/in0_lcrit_alarm sys/module/evl/parameters/*cpus sys/devices/system/cpu/cpu*/online \
    sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count \
    sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference \
    sys/kernel/mm/transparent_hugepage/hugepages-*/enabled sys/fs/cgroup/cpu/cpu.cfs_* \
    etc/security/limits.d/*.conf etc/chrony/conf.d/*.conf etc/tlp.d/*.conf run/tlp/* \
    etc/tuned/*/tuned.conf usr/lib/tuned/*/tuned.conf usr/lib/tuned/profiles/*/tuned.conf \
    etc/default/grub.d/*.cfg boot/loader/entries/*.conf efi/loader/entries/*.conf boot/efi/loader/entries/*.conf; do
    print "$file"
done
# Whether the kernel has its configuration in a module, and not what is in that.
for file in lib/modules/"$(uname -r)"/kernel/kernel/configs.ko*; do
    [ -f "$file" ] && echo "=== $file"
done
# Names of the parameters of modules that arguments name, and not what they are.
for module in $(tr ' ' '\n' <proc/cmdline 2>/dev/null | sed -n 's/^\([A-Za-z0-9_-]*\)\..*/\1/p' | tr - _ | sort -u); do
    for file in sys/module/"$module"/parameters/*; do
        [ -f "$file" ] && echo "=== $file"
    done
done
# What the first process is, and where it may run.
for file in proc/1/comm proc/1/status; do
    if [ -r "$file" ]; then
        echo "=== $file"
        grep -E '^[^:]*$|^Cpus_allowed_list:' "$file"
    fi
done
# Timers that are enabled.
for file in etc/systemd/system/timers.target.wants/* usr/lib/systemd/system/timers.target.wants/*; do
    [ -e "$file" ] && echo "=== $file"
done
# Of mounts only that of the root folder, and that of the CPUs of control groups, version 1.
if [ -r proc/self/mountinfo ]; then
    echo '=== proc/self/mountinfo'
    awk '$5 == "/" || / - cgroup .*[ ,]cpuset(,|$)/' proc/self/mountinfo
fi
# Its groups, and the threads that sit in its root.
sets=$(awk '/ - cgroup .*[ ,]cpuset(,|$)/ { sub("^/", "", $5); print $5; exit }' proc/self/mountinfo 2>/dev/null)
if [ -n "$sets" ]; then
    print "$sets/tasks"
    find "$sets" -name cpuset.cpus -o -name cpuset.cpu_exclusive -o -name cpuset.sched_load_balance | while read -r file; do
        print "$file"
    done
    while read -r thread; do
        echo "=== proc/$thread/status"
        grep -E '^(Tgid|PPid|NSsid|VmSize|Cpus_allowed_list):' "proc/$thread/status"
    done <"$sets/tasks"
fi
# Services that set the time of day, by their names.
for file in proc/[0-9]*/stat; do
    case $(cut -d')' -f1 "$file" 2>/dev/null | cut -d'(' -f2) in
    chronyd | ntpd | ntpsec | systemd-timesyn | phc2sys | ptp4l)
        process=${file%/stat}
        print "$process/task/${process#proc/}/stat"
        ;;
    esac
done
# Of threads only those with a real-time policy, and the main ones: others say nothing here.
for file in proc/[0-9]*/task/*/stat; do
    case $(sed 's/.*) //' "$file" 2>/dev/null | cut -d' ' -f39) in
    1 | 2 | 6)
        print "$file"
        print "${file%stat}status"
        ;;
    esac
done
# What irqbalance was told, and nothing else of what stands there.
for file in proc/[0-9]*/environ; do
    case $(cat "${file%environ}comm" 2>/dev/null) in
    irqbalance)
        echo "=== $file"
        tr '\000' '\n' <"$file" 2>/dev/null | grep '^IRQBALANCE_BANNED'
        ;;
    esac
done
# Which of their options are set; a configuration has thousands of others.
for file in proc/config.gz "boot/config-$(uname -r)"; do
    if [ -r "$file" ]; then
        echo "=== $file"
        case $file in *.gz) zcat "$file" ;; *) cat "$file" ;; esac |
            grep -E '^(# )?CONFIG_(PREEMPT|ARCH_HAS_PREEMPT_LAZY|HZ|NO_HZ|RCU_NOCB|CPU_ISOLATION|CPU_FREQ|CPU_IDLE|HIGH_RES|DEBUG_|LOCK|PROVE_|PROFILE_ALL|SLUB_|K.SAN|UBSAN|KCOV|GCOV|TRACE_IRQ|IRQSOFF|RT_GROUP|EVL|MIGRATION|COMPACTION|TRANSPARENT|KSM|FAIL|PAGE_POISONING|PAGE_OWNER|XENO|HWLAT|FAULT_INJ)'
        break
    fi
done
exit 0
