# SPDX-License-Identifier: MIT OR Apache-2.0
"""A program to which a filter of system calls refuses sched_setattr, as a sandbox may.

Usage: refused_call.py PROGRAM ARGUMENT... Exit code: that of the program; 77 where such a filter cannot be set."""

import ctypes
import errno
import os
import platform
import struct
import sys

# Of this processor: its number in the filter, and that of the call.
ARCHITECTURE, SCHED_SETATTR = {"x86_64": (0xC000003E, 314), "aarch64": (0xC00000B7, 274)}.get(platform.machine(), (0, 0))
SET_NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2
CANNOT = 77

load, equal, answer = 0x20, 0x15, 0x06
allow, refuse = 0x7FFF0000, 0x00050000 | errno.EPERM
# Each comparison has how many lines to jump over if it holds, and if not.
lines = [
    (load, 0, 0, 4),
    (equal, 0, 3, ARCHITECTURE),
    (load, 0, 0, 0),
    (equal, 0, 1, SCHED_SETATTR),
    (answer, 0, 0, refuse),
    (answer, 0, 0, allow),
]
text = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in lines))
program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(lines), ctypes.addressof(text)))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0)
if ARCHITECTURE == 0 or libc.prctl(SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0) != 0:
    sys.exit(CANNOT)
os.execvp(sys.argv[1], sys.argv[1:])
