# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests of `teiji explain` share: the command, an own sum over what it says, and how its causes compare with those of
`measure --explain` in the same guest."""

import itertools
import json
import subprocess

from lab import BOOT_TIMEOUT, PATIENCE_S, TEIJI, Ended, Lab, latencies

# From the timer's interrupt to the clock's reading: the kernel's shortest way takes some 3 µs.
LAST = ["scheduling", "switch", "return", "thread"]
ANYWHERE = {"other-cpu", "hard-interrupt", "softirq"}
# Of these a kernel's function is not always to be named: a program may have run, or several functions.
NAMELESS = {"timer-pending", "other-thread", "switch", "thread"}


class Explaining(Lab):
    """A test that explains recordings."""

    # Where the kernel is entered by the timer's interrupt.
    TIMER_INTERRUPT = {"asm_sysvec_apic_timer_interrupt"}

    def explain(self, recording, *words, code=0):
        """teiji explain to its end."""
        command = [TEIJI, "explain", recording, *words, *BOOT_TIMEOUT]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S)
        ended = Ended(command, done.returncode, done.stdout, done.stderr)
        self.assertEqual(ended.code, code, str(ended))
        return ended

    def check_accounts(self, recording, explained, threads=1):
        """Each ns of each latency is in one part, and the latencies are the largest of the recording."""
        samples = [latencies(recording, thread) for thread in range(threads)]
        accounts = explained["accounts"]
        largest = sorted((latency for of_thread in samples for latency in of_thread if latency is not None), reverse=True)
        self.assertEqual([account["latency_ns"] for account in accounts], largest[: len(accounts)])
        self.assertEqual(explained["identical_samples"], len(largest))
        for account in accounts:
            self.assertEqual(samples[account["thread"]][account["activation"]], account["latency_ns"])
            at = 0
            for part in account["parts"]:
                self.assertEqual(part["begin_ns"], at, account)
                self.assertGreater(part["length_ns"], 0)
                at += part["length_ns"]
            self.assertEqual(at, account["latency_ns"], "parts add up")
            self.assertNotIn("unattributed", [part["kind"] for part in account["parts"]], account)
            # A CPU may wait for a lock anywhere on its way, and an interrupt may come anywhere, with its softirqs.
            kinds = (part["kind"] for part in account["parts"] if part["kind"] not in ANYWHERE)
            kinds = [kind for kind, _ in itertools.groupby(kinds)]
            self.assertEqual(kinds[-len(LAST) :], LAST, account)
            interrupts = [part for part in account["parts"] if part["kind"] == "hard-interrupt"]
            self.assertTrue(self.TIMER_INTERRUPT & {part["function"] for part in interrupts}, account)
            # The thread that measures is the one that the processor went to.
            switches, name = [part for part in account["parts"] if part["kind"] == "switch"], f"teiji-{account['thread']}"
            last = [part["next_task"] for part in switches if part.get("next_task")][-1]
            self.assertEqual((last, account["parts"][-1]["task"]), (name, name), account)
            self.assertTrue(all(part["task"] for part in account["parts"]), "each part has its task")
            for part in account["parts"]:
                named = part["function"] is not None and not part["function"].startswith("0x")
                self.assertTrue(named or part["kind"] in NAMELESS, part)


# The mapping of docs/explain.md, "From events and from instructions". Of interrupts, by where the kernel is entered.
INTERRUPTS = {
    "asm_sysvec_apic_timer_interrupt": "local timer",
    "asm_sysvec_reschedule_ipi": "rescheduling",
    "asm_sysvec_irq_work": "IRQ work",
    "asm_sysvec_call_function": "function call",
    "asm_sysvec_call_function_single": "function call",
}
# Of softirqs, by what each runs.
SOFTIRQS = {
    "tasklet_hi_action": "HI",
    "run_timer_softirq": "TIMER",
    "net_tx_action": "NET_TX",
    "net_rx_action": "NET_RX",
    "blk_done_softirq": "BLOCK",
    "tasklet_action": "TASKLET",
    "run_rebalance_domains": "SCHED",
    "hrtimer_run_softirq": "HRTIMER",
    "rcu_core_si": "RCU",
}
# The kernel's function that records an event is called so, and reads the event's time there. Wake-ups of others are filtered out
# before that.
RECORDS, READS_TIME = "trace_event_raw_event_", "ktime_get_mono_fast_ns"
# Where interrupts enter the kernel.
ENTRIES = ("asm_sysvec_", "asm_common_interrupt")
TIMER_LATE, BACK = ("timer late", None), ("back", None)
OURS, IDLE = "teiji-0", "swapper/0"


def by_events(account):
    """What an account from events says, ns by cause."""
    sums = {}
    for part in account["parts"]:
        kind = part["kind"]
        names = {
            "timer-pending": TIMER_LATE,
            "hard-interrupt": (kind, part.get("name")),
            "softirq": (kind, part.get("name")),
            "preemption-off": (kind, part["task"]),
            "other-thread": (kind, part["task"]),
            "return": BACK,
            "thread": BACK,
            # A halt longer than leaving it takes.
            "unattributed": ("idle", None),
        }
        cause = names.get(kind, (kind, None))
        sums[cause] = sums.get(cause, 0) + part["length_ns"]
    return sums


class Instructions:
    """An account from instructions, and the functions that ran meanwhile, by what events of the kernel can separate."""

    def __init__(self, account, functions):
        # Name, begin and end, ns from the planned time.
        self.functions = functions
        # By their times, which are read last where an event is kept at all; an interrupt may come in between, with its own.
        recording = [function for function in functions if function[0].startswith(RECORDS)]
        at_times = {}
        for at in (begin for name, begin, _ in functions if name == READS_TIME):
            within = [function for function in recording if function[1] <= at < function[2]]
            if within:
                at_times[max(within, key=lambda function: function[1])] = at
        self.events = [(name.removeprefix(RECORDS), at) for (name, *_), at in at_times.items()]
        self.woken = min((at for event, at in self.events if event == "sched_wakeup_template"), default=0)
        self.switches = [at for event, at in self.events if event == "sched_switch"]
        self.handlers = self.between_events(ENTRIES, {"x86_irq_vector", "irq_handler_entry", "irq_handler_exit"})
        self.softirqs = self.between_events(("__do_softirq", "handle_softirqs"), {"softirq"})
        ends = {end for _, *ends in self.handlers + self.softirqs for end in ends} | set(self.switches)
        self.pieces = []
        for part in account["parts"]:
            begin, end = part["begin_ns"], part["begin_ns"] + part["length_ns"]
            cuts = [begin, *sorted(cut for cut in ends if begin < cut < end), end]
            self.pieces += [(part, *piece) for piece in itertools.pairwise(cuts)]
        # The longest piece of code on the way into an interrupt or out of it.
        self.longest_way_ns = 0

    def between_events(self, callers, wanted):
        """From the first event of each handler until its last one, by the call of the function that calls it."""
        frames = [function for function in self.functions if function[0].startswith(callers)]
        found = []
        for frame in frames:
            name, begin, end = frame
            within = [other for other in frames if other != frame and begin <= other[1] and other[2] <= end]
            times = [at for event, at in self.events if event in wanted and begin <= at < end]
            times = [at for at in times if not any(other[1] <= at < other[2] for other in within)]
            if len(times) % 2:
                # It is left for another thread before its last event; or it ran already when the thread was due.
                is_left = any(begin <= at < end for at in self.switches)
                times = times[:-1] if is_left else [0, *times]
            found += [(frame, *times[at : at + 2]) for at in range(0, len(times), 2)]
        return found

    def sums(self):
        """ns by cause."""
        sums, before = {}, None
        for index, (part, begin, end) in enumerate(self.pieces):
            cause = self.own(part, begin, end)
            if cause is None:
                self.longest_way_ns = max(self.longest_way_ns, end - begin)
                cause = self.neighbour(index, before)
            sums[cause] = sums.get(cause, 0) + end - begin
            before = cause
        return sums

    def own(self, part, begin, end):
        """The cause of a piece by itself; none of what no event separates from its neighbour."""
        kind, task = part["kind"], part["task"]
        if kind == "hard-interrupt":
            within = [INTERRUPTS.get(frame[0]) for frame, first, last in self.handlers if first <= begin and end <= last]
            return (kind, within[-1]) if within else None
        if kind == "softirq":
            return self.softirq(begin, end)
        if kind in ("interrupts-off", "timer-pending"):
            return TIMER_LATE
        if kind in ("idle", "unattributed"):
            return ("idle", None)
        if kind in ("return", "thread") or task == OURS or begin >= max(self.switches, default=end):
            return BACK
        if task == IDLE:
            return ("leaving-idle", None)
        if any(self.woken <= at <= begin for at in self.switches):
            return ("other-thread", task)
        return ("preemption-off", task)

    def softirq(self, begin, end):
        """The softirq whose handler runs then, if one does."""
        for _, first, last in self.softirqs:
            if first <= begin and end <= last:
                (name,) = {SOFTIRQS[name] for name, at, _ in self.functions if name in SOFTIRQS and first <= at < last}
                return ("softirq", name)
        return None

    def neighbour(self, index, before):
        """The cause of code on the way into an interrupt or a softirq, or out of it."""
        part, begin, end = self.pieces[index]
        frames = [frame for frame, first, _ in self.handlers if first >= end and frame[1] <= begin and end <= frame[2]]
        if part["kind"] == "hard-interrupt" and frames:
            return before or (("idle", None) if part["task"] == IDLE else TIMER_LATE)
        if begin < self.woken:
            return TIMER_LATE
        others = (self.own(*piece) for piece in self.pieces[index + 1 :] if piece[0]["kind"] not in ("hard-interrupt", "softirq"))
        return self.softirq(begin, end) or next(others, BACK)


def functions_of(trace):
    """What `explain --trace` writes: the functions of each account, in their order."""
    accounts = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event.get("cat") == "function":
            begin, end = round(event["ts"] * 1_000), round((event["ts"] + event["dur"]) * 1_000)
            accounts.setdefault(event["pid"], []).append((event["name"], begin, end))
    return [accounts[index] for index in sorted(accounts)]
