# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels made by hand for the PC: nothing but what its boot protocol asks for, and a few instructions.

By Documentation/arch/x86/boot.rst, the loader enters the setup code in real mode at its second sector.
"""

import struct

COM1 = 0x3F8


def kernel(says=b"", again=False):
    """A bzImage that writes this to the first serial port, and then stands still for ever, or writes it again."""
    code = bytearray()
    for byte in says:
        # mov dx, COM1; mov al, byte; out dx, al
        code += b"\xba" + struct.pack("<H", COM1) + b"\xb0" + bytes([byte]) + b"\xee"
    if again:
        # A near jump back to the beginning.
        code += b"\xe9" + struct.pack("<h", -(len(code) + 3))
    # cli; hlt; jmp to the hlt
    code += b"\xfa\xf4\xeb\xfd"
    setup = bytearray(64 * 512)
    # Setup code has this many sectors beyond the first.
    setup[0x1F1] = len(setup) // 512 - 1
    # The kernel proper, in units of 16 bytes.
    setup[0x1F4:0x1F8] = struct.pack("<I", 32)
    setup[0x1FE:0x200] = b"\x55\xaa"
    # A jump over the header.
    setup[0x200:0x202] = b"\xeb\x7e"
    setup[0x202:0x206] = b"HdrS"
    setup[0x206:0x208] = struct.pack("<H", 0x20C)
    # Loaded high, and the stack below may be used.
    setup[0x211] = 0x81
    # Where the kernel proper goes, and the highest address for an initramfs.
    setup[0x214:0x218] = struct.pack("<I", 0x100000)
    setup[0x22C:0x230] = struct.pack("<I", 0x7FFFFFFF)
    # 64-bit code.
    setup[0x236:0x238] = struct.pack("<H", 1)
    setup[0x238:0x23C] = struct.pack("<I", 2047)
    setup[0x280 : 0x280 + len(code)] = code
    return bytes(setup) + bytes(512)
