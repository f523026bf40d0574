# SPDX-License-Identifier: MIT OR Apache-2.0
"""A program with a co-kernel that is none: its calls are answered here, by a filter of system calls that asks this process.

Usage: fake_core.py CORE WHAT PROGRAM ARGUMENT... CORE is cobalt, or one of an ABI revision, as cobalt18 or evl26. WHAT is how it behaves: none,
runs, stopped, forbids, unknown; or, after the tenth sleep of a thread, falls-back, vanishes, or oversleeps by 25 ms; or counts-nothing or hides-devices, as an EVL without statistics or outside of a container. The last line on standard error says how often the
core was called and whether EVL was looked for. Exit code: that of the program; 77 where such a filter cannot be set."""

import ctypes
import errno
import fcntl
import os
import platform
import socket
import struct
import sys
import threading
import time

TO_CORE = 0x1000_0000
OOB_OPTION = 0x4F4F_4243
# Of this processor: its number in the filter, and those of its calls. Only one of them has open.
ARCHITECTURE, SECCOMP, OPENAT, OPEN, IOCTL, PRCTL, UNAME = {
    "x86_64": (0xC000003E, 317, 257, 2, 16, 157, 63),
    "aarch64": (0xC00000B7, 277, 56, 56, 29, 167, 160),
}.get(platform.machine(), (0, 0, 0, 0, 0, 0, 0))
NEW_LISTENER = 1 << 3
RECEIVE, SEND, ADD_FILE = 0xC0502100, 0xC0182101, 0x40182103
CONTINUE = 1
ADD_AND_SEND = 1 << 1
CANNOT = 77

libc = ctypes.CDLL(None, use_errno=True)


def listener():
    """A filter upon this process. Calls that may be a core's go to who reads the file that is returned."""
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06
    allow, ask = 0x7FFF0000, 0x7FC00000
    asked = sorted({OPENAT, OPEN, IOCTL, PRCTL, UNAME})
    # Each comparison has how many lines to jump over if it holds, and if not. The last two lines allow and ask.
    lines = [(load, 0, 0, 4), (equal, 0, len(asked) + 3, ARCHITECTURE), (load, 0, 0, 0)]
    lines += [(equal, len(asked) - place + 2, 0, number) for place, number in enumerate(asked)]
    lines += [(at_least, 0, 1, TO_CORE), (at_least, 0, 1, TO_CORE + 256), (answer, 0, 0, allow), (answer, 0, 0, ask)]
    code = b"".join(struct.pack("<HBBI", *line) for line in lines)
    text = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(lines), ctypes.addressof(text)))
    libc.prctl(38, 1, 0, 0, 0)
    return libc.syscall(SECCOMP, 1, NEW_LISTENER, program)


class Call:
    """One call of the program's, which waits for its answer."""

    def __init__(self, file, notice):
        self.file = file
        self.place, self.thread, _flags, self.number = struct.unpack_from("<QIIi", notice)
        self.arguments = struct.unpack_from("<6Q", notice, 32)
        self.result = 0

    def end(self, error=0, flags=0):
        result = 0 if error else self.result
        fcntl.ioctl(self.file, SEND, bytearray(struct.pack("<QqiI", self.place, result, -error, flags)))

    def add_file(self, content, flags=0):
        """A file of the program's, whose number is returned."""
        file = os.memfd_create("fake")
        os.write(file, content)
        os.lseek(file, 0, os.SEEK_SET)
        number = fcntl.ioctl(self.file, ADD_FILE, bytearray(struct.pack("<QIIII", self.place, flags, file, 0, 0)))
        os.close(file)
        return number

    def read(self, address, size):
        with open(f"/proc/{self.thread}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def write(self, address, content):
        with open(f"/proc/{self.thread}/mem", "wb", buffering=0) as memory:
            memory.seek(address)
            memory.write(content)

    def path(self):
        address = self.arguments[1 if self.number == OPENAT else 0]
        return self.read(address, 64).split(b"\0")[0].decode(errors="replace")


class Core:
    """What every core answers. Every thread of the program has its own count of sleeps."""

    def __init__(self, what, revision):
        self.what, self.revision = what, revision
        self.sleeps = {}
        self.calls = 0
        self.looked_for_evl = False

    def serve(self, file):
        """Answers until the program has ended."""
        while True:
            notice = bytearray(80)
            try:
                fcntl.ioctl(file, RECEIVE, notice)
            except OSError as error:
                # A call whose thread is gone again.
                if error.errno in (errno.ENOENT, errno.EINTR):
                    continue
                return
            threading.Thread(target=self.one, args=(Call(file, notice),), daemon=True).start()

    def one(self, call):
        try:
            if call.number in (OPENAT, OPEN):
                path = call.path()
                self.looked_for_evl |= path.startswith("/dev/evl")
                self.open(call, path)
            elif call.number == UNAME:
                self.uname(call)
            else:
                self.other(call)
        except OSError:
            # The thread is gone.
            pass

    def uname(self, call):
        call.end(flags=CONTINUE)

    def has_vanished(self, thread):
        return self.what == "vanishes" and self.sleeps.get(thread, 0) >= 10

    def switches(self, thread):
        return int(self.what == "falls-back" and self.sleeps.get(thread, 0) >= 10)

    def sleep(self, call, address):
        seconds, ns = struct.unpack("<2q", call.read(address, 16))
        self.sleep_until(call.thread, seconds * 10**9 + ns)

    def sleep_until(self, thread, ns):
        self.sleeps[thread] = self.sleeps.get(thread, 0) + 1
        if self.what == "oversleeps" and self.sleeps[thread] == 10:
            ns += 25_000_000
        time.sleep(max(0, ns - time.clock_gettime_ns(time.CLOCK_MONOTONIC)) / 10**9)

    def tell_time(self, call, address):
        call.write(address, struct.pack("<2q", *divmod(time.clock_gettime_ns(time.CLOCK_MONOTONIC), 10**9)))


class Cobalt(Core):
    """Its calls are system calls of their own."""

    BIND, SET_MODE, SET_SCHEDULING, STATISTICS, GET_TIME, SLEEP, MIGRATE = 0, 3, 7, 9, 23, 25, 88
    MAKE_TIMER, CLOSE, READ = 57, 79, 81

    def __init__(self, what, revision):
        super().__init__(what, revision)
        # In the older one's place newer cores take times of 32 bits.
        self.start_timer_number = 118 if revision >= 19 else 58
        # By the number of its file: when it expires.
        self.timers = {}

    def open(self, call, path):
        """Its version is what tells a core that forbids from none."""
        if path == "/proc/xenomai/version" and self.what != "none":
            call.add_file(b"3.3.1\n", ADD_AND_SEND)
        else:
            call.end(flags=CONTINUE)

    def other(self, call):
        if call.number < TO_CORE:
            call.end(flags=CONTINUE)
            return
        self.calls += 1
        call.end(error=errno.ENOSYS if self.has_vanished(call.thread) else self.answer(call, call.number - TO_CORE))

    def answer(self, call, number):
        if number == self.BIND:
            return self.bind(call, call.arguments[0])
        if number == self.STATISTICS:
            call.write(call.arguments[1], struct.pack("<3Q", 0, 0, self.switches(call.thread)))
        elif number == self.GET_TIME:
            self.tell_time(call, call.arguments[1])
        elif number == self.SLEEP:
            self.sleep(call, call.arguments[2])
        elif number == self.MAKE_TIMER:
            call.result = call.add_file(b"")
        elif number == self.start_timer_number:
            interval, interval_ns, seconds, ns = struct.unpack("<4q", call.read(call.arguments[2], 32))
            expires = seconds * 10**9 + ns
            if interval or interval_ns:
                return errno.EINVAL
            if expires <= time.clock_gettime_ns(time.CLOCK_MONOTONIC):
                return errno.ETIMEDOUT
            self.timers[call.arguments[0]] = expires
        elif number == self.READ:
            self.sleep_until(call.thread, self.timers[call.arguments[0]])
            call.write(call.arguments[1], struct.pack("<Q", 1))
            call.result = 8
        elif number not in (self.SET_MODE, self.SET_SCHEDULING, self.MIGRATE, self.CLOSE):
            return errno.ENOSYS
        return 0

    def bind(self, call, request):
        refusals = {"none": errno.ENOSYS, "stopped": errno.EAGAIN, "forbids": errno.EPERM}
        if self.what in refusals:
            return refusals[self.what]
        own = 99 if self.what == "unknown" else self.revision
        call.write(request + 20, struct.pack("<I", own))
        (asked,) = struct.unpack("<I", call.read(request + 4, 4))
        return 0 if asked == own else errno.ENOEXEC


class Evl(Core):
    """Its calls are requests on its devices. Those on its own stage come in the way of its revision, and in no other."""

    DEVICES = ("/dev/evl/control", "/dev/evl/thread/clone", "/dev/evl/clock/monotonic")
    CORE_INFO, CLONE, DETACH = 0x80184300, 0xC0286600, 0x5407
    SET_SCHEDULING, GET_STATE, SWITCH, SLEEP, GET_TIME = 0x40185401, 0x80385404, 0x5405, 0x40106300, 0x80106302

    def uname(self, call):
        """Of a kernel with a pipeline of interrupts."""
        names = ("Linux", "fake", "6.10.0", "#1 SMP PREEMPT IRQ_PIPELINE", platform.machine(), "")
        call.write(call.arguments[0], b"".join(name.encode().ljust(65, b"\0") for name in names))
        call.end()

    def open(self, call, path):
        if path == "/sys/class/evl/control/state" and self.what != "none":
            call.add_file(b"stopped\n" if self.what == "stopped" else b"running\n", ADD_AND_SEND)
        elif path in self.DEVICES and self.what == "hides-devices":
            call.end(error=errno.ENOENT)
        elif path not in self.DEVICES or self.what == "none":
            call.end(flags=CONTINUE)
        elif self.what == "forbids":
            call.end(error=errno.EACCES)
        else:
            call.add_file(b"", ADD_AND_SEND)

    def other(self, call):
        found = self.request_of(call)
        if found is None:
            # Cobalt's bind among them, which a kernel without it does not know.
            call.end(flags=CONTINUE)
            return
        self.calls += 1
        request, address = found
        call.end(error=errno.ENOSYS if self.has_vanished(call.thread) else self.answer(call, request, address))

    def request_of(self, call):
        """The request and its data, where this is a call of EVL's in its way."""
        arguments = call.arguments
        if call.number == IOCTL:
            ours = (self.CORE_INFO, self.CLONE, self.DETACH)
            return (arguments[1], arguments[2]) if arguments[1] in ours else None
        if self.revision >= 36:
            is_ours = call.number == PRCTL and arguments[:2] == (OOB_OPTION, 2)
            return arguments[3:5] if is_ours else None
        if self.revision >= 32:
            is_ours = call.number == PRCTL and arguments[0] == TO_CORE + 2
            return arguments[2:4] if is_ours else None
        return arguments[1:3] if call.number == TO_CORE + 2 else None

    def answer(self, call, request, address):
        if request == self.CORE_INFO:
            base, own = (99, 99) if self.what == "unknown" else (self.revision, self.revision)
            call.write(address, struct.pack("<2I", base, own))
        elif request == self.CLONE:
            call.write(address + 32, struct.pack("<I", call.add_file(b"")))
        elif request == self.GET_STATE:
            # With the times it was switched to, unless it keeps no statistics.
            counts = (0, 0) if self.what == "counts-nothing" else (self.switches(call.thread), 7)
            call.write(address + 32, struct.pack("<2I", *counts))
        elif request == self.GET_TIME:
            self.tell_time(call, address)
        elif request == self.SLEEP:
            self.sleep(call, address)
        elif request not in (self.SET_SCHEDULING, self.SWITCH, self.DETACH):
            return errno.ENOTTY
        return 0


def core_of(name, what):
    newest = "19" if platform.machine() == "x86_64" else "20"
    return Evl(what, int(name.removeprefix("evl"))) if name.startswith("evl") else Cobalt(what, int(name.removeprefix("cobalt") or newest))


def main():
    name, what, *command = sys.argv[1:]
    if not ARCHITECTURE:
        return CANNOT
    core = core_of(name, what)
    here, there = socket.socketpair()
    child = os.fork()
    if child == 0:
        here.close()
        os.set_inheritable(there.fileno(), False)
        file = listener()
        if file < 0:
            os._exit(CANNOT)
        socket.send_fds(there, [b"x"], [file])
        os.close(file)
        os.execv(command[0], command)
    there.close()
    _, files, _, _ = socket.recv_fds(here, 1, 1)
    if files:
        threading.Thread(target=core.serve, args=(files[0],), daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"calls of the core: {core.calls}, EVL looked for: {core.looked_for_evl}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
