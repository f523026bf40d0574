# SPDX-License-Identifier: MIT OR Apache-2.0
"""`teiji tune` in guests with two CPUs: the kernel has what was set, and afterwards every file as it was before."""

import re

from booted import BUSYBOX
from lab import PATIENCE_S, Lab, long, main

TWO_CPUS = ("--time", "host", "--smp", "2", "--append", "quiet")

# Services in a group of their own, as systemd has them, with and without the controller of CPUs.
SCRIPT = """
b=/busybox
g=/sys/fs/cgroup
show() {
    for file in /proc/irq/*/smp_affinity_list /proc/irq/default_smp_affinity /sys/devices/virtual/workqueue/cpumask \\
        /proc/sys/kernel/watchdog_cpumask /proc/sys/kernel/timer_migration /proc/sys/vm/stat_interval \\
        /proc/sys/vm/compaction_proactiveness /sys/kernel/mm/transparent_hugepage/enabled $g/cgroup.subtree_control \\
        $g/*/cpuset.cpus $g/*/cpuset.cpus.effective; do
        [ -e $file ] && echo "$file $($b cat $file)"
    done
    echo "service $($b grep Cpus_allowed_list /proc/$service/status)"
}
same() {
    show >/after
    $b cmp /before /after && echo "$1: as before" || $b diff /before /after
}
$b mount -t cgroup2 cgroup2 $g
$b mkdir $g/system.slice $g/user.slice
$b sleep 1000 >/dev/null 2>&1 &
service=$!
echo $service >$g/system.slice/cgroup.procs
echo $$ >$g/user.slice/cgroup.procs
for controllers in without with; do
    [ $controllers = with ] && echo +cpuset >$g/cgroup.subtree_control
    show >/before
    /teiji tune --cpus 1 || echo "tune: $?"
    show >/tuned
    $b sed "s/^/$controllers: /" /tuned
    /teiji tune --undo || echo "undo: $?"
    same "$controllers, undone"
    /teiji tune --cpus 1 -- /teiji check -a 1 | $b grep -E "tuning|interrupts-on|workqueues|watchdogs|timer-migration" | $b sed "s/^/check: /"
    same "$controllers, after a command"
    $b rm -f /command
    /teiji tune --cpus 1 -- $b sh -c 'echo $$ >/command; exec '$b' sleep 1000' >/dev/null 2>&1 &
    while [ ! -s /command ]; do $b sleep 0.1; done
    $b kill -9 $!
    $b kill $($b cat /command)
    /teiji plan-length --rate 1e-3 2>&1 | $b grep "killed put back"
    same "$controllers, killed"
done
$b taskset 2 /teiji lab-init stall=60x1us/1s &
thread=$!
echo "/busybox cat /proc/$thread/task/*/stat" >/stats
highest() {
    # Priority and policy of its threads, from the third field on.
    $b sed "s/.*) //" | $b awk '{ print "highest:", $38, $39 }' | $b sort | $b tail -n 1
}
until $b sh /stats | highest | $b grep -q 95; do $b sleep 0.1; done
$b sh /stats | highest
/teiji tune --cpus 1 --only threads-above -- $b sh /stats | highest
$b sh /stats | highest
$b kill $service $thread
"""

# Groups of version 1, one below the other, with a service in the lower one and one in the root.
VERSION_1 = """
b=/busybox
g=/sys/fs/cgroup/cpuset
show() {
    for file in $($b find $g -name cpuset.cpus) $($b find $g -name cpuset.mems) $g/docker/*/tasks; do
        echo "$file $($b cat $file | $b tr '\\n' ' ')"
    done
    for thread in $service $daemon $bound $$; do
        echo "$thread $($b cat /proc/$thread/cpuset) $($b grep Cpus_allowed_list /proc/$thread/status)"
    done
}
same() {
    show >/after
    $b cmp /before /after && echo "$1: as before" || $b diff /before /after
}
$b mount -t tmpfs tmpfs /sys/fs/cgroup
$b mkdir $g
$b mount -t cgroup -o cpuset cpuset $g
for group in docker docker/a; do
    $b mkdir $g/$group
    echo 0 >$g/$group/cpuset.mems
    echo 0-1 >$g/$group/cpuset.cpus
done
$b sleep 1000 >/dev/null 2>&1 &
service=$!
echo $service >$g/docker/a/tasks
# A daemon that starts another one, and is no relative of this shell's.
$b setsid $b sh -c 'echo $$ >/daemon; while [ ! -e /go ]; do '$b' sleep 0.1; done; '$b' sleep 1000 & echo $! >/begun; wait' >/dev/null 2>&1 &
$b setsid $b taskset 2 $b sleep 1000 >/dev/null 2>&1 &
bound=$!
until [ -s /daemon ] && $b grep -q "Cpus_allowed_list:.1$" /proc/$bound/status; do $b sleep 0.1; done
daemon=$($b cat /daemon)
show >/before
/teiji check -a 1 | $b grep -A 2 "control-groups" | $b tr -s "\n " " " | $b sed "s/^/check: /"
echo
/teiji tune --only control-groups --cpus 1 || echo "tune: $?"
show | $b sed "s/^/tuned: /" | $b sed "s/ $daemon / daemon /;s/ $bound / bound /;s/ $service / service /;s/ $$ / shell /"
/teiji check -a 1 | $b grep "control-groups" | $b sed "s/^/check again: /"
echo >/go
until [ -s /begun ]; do $b sleep 0.1; done
echo "begun: $($b cat /proc/$($b cat /begun)/cpuset) $($b grep Cpus_allowed_list /proc/$($b cat /begun)/status)"
/teiji tune --undo || echo "undo: $?"
same undone
echo "begun: $($b cat /proc/$($b cat /begun)/cpuset) $($b grep Cpus_allowed_list /proc/$($b cat /begun)/status)"
/teiji tune --only control-groups --cpus 1 -- $b sh -c 'echo "command: $('$b' cat /proc/$$/cpuset) $('$b' grep Cpus_allowed_list /proc/$$/status)"'
same "after a command"
/teiji tune --only control-groups --cpus 1 -- $b sh -c 'echo $$ >/command; exec '$b' sleep 1000' >/dev/null 2>&1 &
while [ ! -s /command ]; do $b sleep 0.1; done
$b kill -9 $!
$b kill $($b cat /command)
[ -e $g/teiji ] && echo "killed: a group is left"
/teiji plan-length --rate 1e-3 2>&1 | $b grep "killed put back"
same killed
[ -e $g/teiji ] && echo "a group is left"
$b kill $service $daemon $bound $($b cat /begun)
"""

# A thread that comes before what is to be on time, for 6 of each 10 ms.
PROVE = """
b=/busybox
$b taskset 2 /teiji lab-init stall=90000x6ms/10ms &
hog=$!
echo "/busybox cat /proc/$hog/task/*/stat" >/stats
highest() {
    $b sh /stats | $b sed "s/.*) //" | $b awk '{ print "highest:", $38 }' | $b sort | $b tail -n 1
}
until highest | $b grep -q 95; do $b sleep 0.1; done
highest
/teiji tune --prove --cpus 1 -d 300ms -i 1700us --quantity p50 --only threads-above,compaction || echo "prove: $?"
highest
/teiji tune --undo || echo "undo: $?"
highest
$b kill $hog
"""


class Tune(Lab):
    def printed(self, kernel, text, *more):
        """What a script prints in a guest with this kernel."""
        script = self.folder / "script"
        script.write_text(text)
        files = ("--file", f"{BUSYBOX}=/busybox", "--file", f"{script}=/script")
        process = self.start("exec", "-q", "-k", kernel, *TWO_CPUS, *files, *more, "--run", "/busybox sh /script")
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, stderr)
        return stdout, stderr

    def test_the_kernel_has_what_was_set_and_then_what_was_before(self):
        self.check_that_it_has_what_was_set("debian:rt-amd64")

    @long
    def test_a_vanilla_kernel_has_what_was_set_and_then_what_was_before(self):
        self.check_that_it_has_what_was_set("debian:amd64")

    def check_that_it_has_what_was_set(self, kernel):
        stdout, stderr = self.printed(kernel, SCRIPT)
        for controllers in ("without", "with"):
            for when in ("undone", "after a command", "killed"):
                self.assertIn(f"\n{controllers}, {when}: as before\n", stdout)
            for tuned in (
                "/proc/irq/default_smp_affinity 1",
                "/sys/devices/virtual/workqueue/cpumask 1",
                "/proc/sys/kernel/watchdog_cpumask 0",
                "/proc/sys/vm/stat_interval 120",
                "/sys/fs/cgroup/user.slice/cpuset.cpus.effective 0-1",
            ):
                self.assertIn(f"\n{controllers}: {tuned}\n", stdout)
        # A group with processes cannot have no CPUs of its own again, unless the controller is taken from it.
        self.assertRegex(stdout, r"\nwithout: service Cpus_allowed_list:\s+0\n")
        self.assertRegex(stdout, r"\nwith: service Cpus_allowed_list:\s+0-1\n")
        self.assertIn("note: services in system.slice may run on these CPUs, ", stdout + stderr)
        # A thread of a higher priority, before, while a command runs, and after.
        self.assertEqual(re.findall(r"highest: (\d+ \d+)", stdout), ["95 1", "89 1", "95 1"], stdout)
        self.assertNotRegex(stdout, r"\n(tune|undo): ")
        self.assertEqual(len(re.findall(r"\nnote: \d+ settings of a teiji tune that was killed put back\n", stdout)), 2, stdout)
        checks = re.findall(r"\ncheck: (\w+) +(interrupts-on-measured-cpus|workqueues|watchdogs|timer-migration|tuning)\s", stdout)
        self.assertEqual(len(checks), 10, stdout)
        self.assertEqual({status for status, _ in checks}, {"ok"}, stdout)

    @long
    def test_threads_leave_a_cpu_by_groups_of_version_1_and_come_back(self):
        self.check_groups_of_version_1("debian:amd64")

    @long
    def test_threads_leave_a_cpu_of_preempt_rt_by_groups_of_version_1_and_come_back(self):
        self.check_groups_of_version_1("debian:rt-amd64")

    def check_groups_of_version_1(self, kernel):
        stdout, _ = self.printed(kernel, VERSION_1)
        self.assertRegex(stdout, r"(?m)^check: warn +control-groups +docker/a, docker and \d+ threads in the root cpuset may")
        self.assertNotIn("\ncheck again: ", stdout)
        for tuned in (
            "/sys/fs/cgroup/cpuset/docker/cpuset.cpus 0 ",
            "/sys/fs/cgroup/cpuset/docker/a/cpuset.cpus 0 ",
            "/sys/fs/cgroup/cpuset/teiji/cpuset.cpus 0 ",
            "/sys/fs/cgroup/cpuset/teiji/cpuset.mems 0 ",
            "service /docker/a Cpus_allowed_list:\t0",
            "daemon /teiji Cpus_allowed_list:\t0",
            "bound / Cpus_allowed_list:\t1",
            "shell / Cpus_allowed_list:\t0-1",
        ):
            self.assertIn(f"\ntuned: {tuned}\n", stdout)
        self.assertIn("\ncommand: / Cpus_allowed_list:\t0-1\n", stdout)
        # What a moved thread started is in its group, and comes back with it.
        begun = re.findall(r"\nbegun: (.*) Cpus_allowed_list:\t(.*)", stdout)
        self.assertEqual(begun, [("/teiji", "0"), ("/", "0-1")])
        self.assertIn("\nkilled: a group is left\n", stdout)
        for when in ("undone", "after a command", "killed"):
            self.assertIn(f"\n{when}: as before\n", stdout)
        self.assertNotRegex(stdout, "(?m)^(a group is left|(tune|undo): )")

    @long
    def test_a_change_that_helps_is_kept(self):
        stdout, _ = self.printed("debian:rt-amd64", PROVE, "--expect", "300s")
        self.assertIn("\nthreads-above: helps\n", stdout)
        self.assertIn("\nKept, because they help: threads-above.\n", stdout)
        self.assertIn("\ncompaction: no evidence either way\n", stdout)
        self.assertEqual(re.findall("highest: (.*)", stdout), ["95", "89", "95"])
        self.assertNotRegex(stdout, "(?m)^(prove|undo): ")


if __name__ == "__main__":
    main()
