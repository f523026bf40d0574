# SPDX-License-Identifier: MIT OR Apache-2.0
"""Size of the program, which must need no other file to run."""

import struct

from figure import Figure
from programs import Failed

MAX_MB = 16
PT_INTERP = 3
SHT_SYMTAB = 2


def kinds(data, offset_at, size_at, kind_at):
    """The kinds of all entries of one of the tables of a 64-bit little-endian ELF file."""
    (table,) = struct.unpack_from("<Q", data, offset_at)
    size, number = struct.unpack_from("<HH", data, size_at)
    return {struct.unpack_from("<I", data, table + index * size + kind_at)[0] for index in range(number)}


def figures(programs):
    """Reads the file's size and its headers."""
    data = programs.teiji.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise Failed(f"{programs.teiji} is no 64-bit little-endian ELF file")
    static = PT_INTERP not in kinds(data, offset_at=0x20, size_at=0x36, kind_at=0)
    stripped = SHT_SYMTAB not in kinds(data, offset_at=0x28, size_at=0x3A, kind_at=4)
    if not (static and stripped):
        raise Failed(f"{programs.teiji} is not static and stripped: it is no release program of make build")
    print(f"  {len(data):,} bytes, static, stripped")
    yield Figure.at_most("size of the static program", len(data) / 1e6, MAX_MB, "{:.2f} MB")
