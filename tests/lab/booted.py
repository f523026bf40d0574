# SPDX-License-Identifier: MIT OR Apache-2.0
"""A machine as its users have it: a kernel of Debian's, a shell script as its first process, and the static teiji.

The lab is left out on purpose: its own first process is teiji, and may start things in a way that no user does.
"""

import re
import shutil
import subprocess
from pathlib import Path

BUSYBOX = Path(shutil.which("busybox"))
# On a busy host, in emulation without KVM.
BOOTED_S = 900

INIT = """#!/bin/busybox sh
busybox=/bin/busybox
$busybox mkdir -p /proc /sys /dev /tmp /root
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sysfs /sys
$busybox mount -t devtmpfs devtmpfs /dev
$busybox mount -t tmpfs tmpfs /tmp
$busybox --install -s /bin
export PATH=/bin:/usr/bin
exec >/dev/ttyS1 2>&1 </dev/null
stty -F /dev/ttyS1 raw
cd /tmp
. /script
reboot -f
"""


def newc(files):
    """A cpio archive of executable files, {path: bytes}, with the folders they are in."""
    archive = bytearray()

    def entry(name, mode, content=b""):
        name = name.encode() + b"\0"
        fields = [len(archive) + 1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
        archive.extend(b"070701" + b"".join(b"%08X" % field for field in fields) + name)
        archive.extend(bytes(-len(archive) % 4) + content)
        archive.extend(bytes(-len(archive) % 4))

    for folder in sorted({str(parent) for path in files for parent in Path(path).parents} - {"."}):
        entry(folder, 0o40755)
    for path, content in files.items():
        entry(path, 0o100755, content)
    entry("TRAILER!!!", 0)
    return bytes(archive)


def libraries(program):
    """What a program is loaded with, {path: bytes}; nothing for a static one, as busybox-static has it and busybox has not."""
    output = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return {path.lstrip("/"): Path(path).read_bytes() for path in re.findall(r"(/\S+) \(0x", output)}


def run(folder, kernel, arguments, program, script, cpus=2, more=()):
    """Boots, runs a shell script that finds `more` programs, and gives what it printed; what the kernel printed lies in `folder`."""
    initramfs = folder / "initramfs"
    files = {"init": INIT.encode(), "script": script.encode(), "bin/busybox": BUSYBOX.read_bytes()}
    for other in map(shutil.which, more):
        files |= libraries(other) | {f"usr/bin/{Path(other).name}": Path(other).read_bytes()}
    initramfs.write_bytes(newc(files | libraries(BUSYBOX) | {"bin/teiji": Path(program).read_bytes()}))
    console, output = folder / "console", folder / "output"
    words = ["qemu-system-x86_64", "-accel", "tcg", "-smp", str(cpus), "-m", "512", "-nographic", "-no-reboot"]
    words += ["-nodefaults", "-kernel", kernel, "-initrd", initramfs, "-append"]
    words += [f"console=ttyS0 panic=-1 quiet {arguments}", "-serial", f"file:{console}", "-serial", f"file:{output}"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BOOTED_S, check=False)
    text = output.read_text(errors="replace") if output.exists() else ""
    if done.returncode != 0 or not text:
        last = console.read_text(errors="replace")[-2_000:] if console.exists() else ""
        raise AssertionError(f"QEMU ended with {done.returncode}: {done.stderr}\n{last}")
    return text
