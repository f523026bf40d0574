# SPDX-License-Identifier: MIT OR Apache-2.0
"""A program with a Cobalt that is none: its calls are answered here, by a filter of system calls that asks this process.

Usage: fake_cobalt.py WHAT PROGRAM ARGUMENT... WHAT is how the core behaves: none, runs, stopped, forbids, unknown; or, after the
tenth sleep of a thread, falls-back, or vanishes. The last line on standard error says how often the core was called. Exit code: that of the
program; 77 where such a filter cannot be set."""

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
BIND, SET_MODE, SET_SCHEDULING, STATISTICS, GET_TIME, SLEEP, MIGRATE = 0, 3, 7, 9, 23, 25, 88
REVISION = 19
UNKNOWN = 99
VERSION_FILE = b"/proc/xenomai/version"

# Of this processor: its number in the filter, and those of seccomp, openat, and open, which only one of them has.
ARCHITECTURE, SECCOMP, OPENAT, OPEN = {
    "x86_64": (0xC000003E, 317, 257, 2),
    "aarch64": (0xC00000B7, 277, 56, 56),
}.get(platform.machine(), (0, 0, 0, 0))
NEW_LISTENER = 1 << 3
RECEIVE, SEND, ADD_FILE = 0xC0502100, 0xC0182101, 0x40182103
CONTINUE = 1
ADD_AND_SEND = 1 << 1
CANNOT = 77

libc = ctypes.CDLL(None, use_errno=True)


def listener():
    """A filter upon this process, whose calls of the core and of openat go to who reads the file that is returned."""
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06
    allow, ask = 0x7FFF0000, 0x7FC00000
    # Each comparison has how many lines to jump over if it holds, and if not.
    lines = [
        (load, 0, 0, 4),
        (equal, 0, 5, ARCHITECTURE),
        (load, 0, 0, 0),
        (equal, 4, 0, OPENAT),
        (equal, 3, 0, OPEN),
        (at_least, 0, 1, TO_CORE),
        (at_least, 0, 1, TO_CORE + 256),
        (answer, 0, 0, allow),
        (answer, 0, 0, ask),
    ]
    code = b"".join(struct.pack("<HBBI", *line) for line in lines)
    text = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(lines), ctypes.addressof(text)))
    libc.prctl(38, 1, 0, 0, 0)
    return libc.syscall(SECCOMP, 1, NEW_LISTENER, program)


class Core:
    """What it answers. Every thread of the program has its own count of sleeps."""

    def __init__(self, what, file):
        self.what, self.file = what, file
        self.sleeps = {}
        self.calls = 0
        self.looked_for_evl = False

    def serve(self):
        """Answers until the program has ended."""
        while True:
            call = bytearray(80)
            try:
                fcntl.ioctl(self.file, RECEIVE, call)
            except OSError as error:
                # A call whose thread is gone again.
                if error.errno in (errno.ENOENT, errno.EINTR):
                    continue
                return
            threading.Thread(target=self.one, args=(call,), daemon=True).start()

    def one(self, call):
        number_of_call, thread, _flags, number = struct.unpack_from("<QIIi", call)
        arguments = struct.unpack_from("<6Q", call, 32)
        try:
            if number in (OPENAT, OPEN):
                self.open(number_of_call, thread, arguments[1 if number == OPENAT else 0])
            else:
                code, value = self.answer(thread, number - TO_CORE, arguments)
                self.send(number_of_call, value=value, error=-code)
        except OSError:
            # The thread is gone.
            pass

    def send(self, number_of_call, value=0, error=0, flags=0):
        fcntl.ioctl(self.file, SEND, bytearray(struct.pack("<QqiI", number_of_call, value, error, flags)))

    def open(self, number_of_call, thread, address):
        """Cobalt's version is what tells a core that forbids from none."""
        path = self.read(thread, address, len(VERSION_FILE) + 1)
        self.looked_for_evl |= path.startswith(b"/dev/evl")
        if path != VERSION_FILE + b"\0" or self.what == "none":
            return self.send(number_of_call, flags=CONTINUE)
        file = os.memfd_create("version")
        os.write(file, b"3.3.1\n")
        os.lseek(file, 0, os.SEEK_SET)
        fcntl.ioctl(self.file, ADD_FILE, bytearray(struct.pack("<QIIII", number_of_call, ADD_AND_SEND, file, 0, 0)))
        os.close(file)

    def answer(self, thread, number, arguments):
        """An error and a value."""
        self.calls += 1
        sleeps = self.sleeps.get(thread, 0)
        if self.what == "vanishes" and sleeps >= 10:
            return errno.ENOSYS, 0
        if number == BIND:
            return self.bind(thread, arguments[0]), 0
        if number == STATISTICS:
            switches = int(self.what == "falls-back" and sleeps >= 10)
            self.write(thread, arguments[1], struct.pack("<3Q", 0, 0, switches))
        elif number == GET_TIME:
            self.write(thread, arguments[1], struct.pack("<2q", *divmod(time.clock_gettime_ns(time.CLOCK_MONOTONIC), 10**9)))
        elif number == SLEEP:
            self.sleeps[thread] = sleeps + 1
            seconds, ns = struct.unpack("<2q", self.read(thread, arguments[2], 16))
            time.sleep(max(0, seconds * 10**9 + ns - time.clock_gettime_ns(time.CLOCK_MONOTONIC)) / 10**9)
        elif number not in (SET_MODE, SET_SCHEDULING, MIGRATE):
            return errno.ENOSYS, 0
        return 0, 0

    def bind(self, thread, request):
        refusals = {"none": errno.ENOSYS, "stopped": errno.EAGAIN, "forbids": errno.EPERM}
        if self.what in refusals:
            return refusals[self.what]
        own = UNKNOWN if self.what == "unknown" else REVISION
        self.write(thread, request + 20, struct.pack("<I", own))
        (asked,) = struct.unpack("<I", self.read(thread, request + 4, 4))
        return 0 if asked == own else errno.ENOEXEC

    def read(self, thread, address, size):
        with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def write(self, thread, address, content):
        with open(f"/proc/{thread}/mem", "wb", buffering=0) as memory:
            memory.seek(address)
            memory.write(content)


def main():
    what, *command = sys.argv[1:]
    if not ARCHITECTURE:
        return CANNOT
    here, there = socket.socketpair()
    child = os.fork()
    if child == 0:
        here.close()
        # Without asking: from the filter on every openat would wait for the parent, which has no listener yet.
        file = listener()
        if file < 0:
            os._exit(CANNOT)
        socket.send_fds(there, [b"x"], [file])
        os.close(file)
        os.set_inheritable(there.fileno(), False)
        os.execv(command[0], command)
    there.close()
    _, files, _, _ = socket.recv_fds(here, 1, 1)
    core = Core(what, files[0] if files else -1)
    if files:
        threading.Thread(target=core.serve, daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"calls of Cobalt: {core.calls}, EVL looked for: {core.looked_for_evl}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
