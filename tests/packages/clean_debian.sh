#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs a package into a clean Debian, uses what lies there, and removes it: nothing but its group is left. As root.
#
# Usage: clean_debian.sh SUITE PACKAGE.deb. The Debian, some 300 MB, lies in a temporary folder and is removed. MIRROR is where
# debootstrap fetches it from.
set -eu
mirror=${MIRROR:-http://deb.debian.org/debian}
export LC_ALL=C

# However this ends, what it has mounted and started ends with the namespaces. Only then may the folder be removed.
if [ "${1-}" != --inside ]; then
    root=$(mktemp -d --tmpdir "teiji-$1.XXXXXX")
    # The / of users without rights, too.
    chmod 755 "$root"
    inside=
    # With the signal that it cannot ignore. What it has started ends with it.
    trap '[ -z "$inside" ] || kill -KILL "$inside"; rm -rf --one-file-system "$root" "$root.log"' EXIT
    trap 'exit 130' INT TERM HUP
    # A folder that its scripts do not have.
    unset TMPDIR
    unshare --mount --pid --fork --kill-child "$0" --inside "$1" "$2" "$root" &
    inside=$!
    code=0
    wait "$inside" || code=$?
    inside=
    exit "$code"
fi
suite=$2 package=$3 root=$4

in_debian() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        DEBCONF_NOWARNINGS=yes "$@"
}

apt_get() {
    in_debian apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends "$@" >"$root/tmp/apt.log" 2>&1 || { cat "$root/tmp/apt.log" >&2 && return 1; }
}

# Each file, those of /etc with a check sum, but for groups, what dpkg and apt keep, their logs, and /run, which no boot keeps.
files() {
    in_debian find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/lib/apt -o -path /var/lib/dpkg \
        -o -path /var/cache -o -path /var/log -o -path '/etc/g*p' -o -path '/etc/g*p-' -o -path '/etc/gshadow*' \) -prune -o -print | sort
    in_debian find /etc -type f ! -path '/etc/group*' ! -path '/etc/gshadow*' -exec md5sum {} + | sort -k 2
}

packages() {
    in_debian dpkg --get-selections | cut -f 1 | sort
}

fails() {
    echo "$suite: $*" >&2
    exit 1
}

if ! debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" 2>&1; then
    tail -n 20 "$root.log" >&2
    fails "debootstrap failed"
fi
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
cp "$package" "$root/tmp/teiji.deb"
files >"$root/tmp/before"
packages >"$root/tmp/packages"
in_debian getent group >"$root/tmp/groups"

apt_get install /tmp/teiji.deb
in_debian teiji measure --quiet --duration 1s --output /tmp/one.teiji >/dev/null
in_debian teiji verify /tmp/one.teiji
# Each page that the program writes is there, and nothing else is among them.
in_debian teiji pages /tmp/pages
diff <(cd "$root/tmp/pages/man1" && ls) <(cd "$root/usr/share/man/man1" && printf '%s\n' teiji*.1.gz | sed 's/\.gz$//') >&2 ||
    fails "these manual pages differ"
in_debian zcat /usr/share/man/man1/teiji.1.gz | cmp - "$root/tmp/pages/man1/teiji.1"
in_debian teiji run --dry-run /usr/share/doc/teiji/examples/toshiba-memory.toml >/dev/null
# Stands in for rt-tests for those who ask for it, and for nobody else.
in_debian env PATH=/usr/lib/teiji/bin:/usr/bin:/bin cyclictest --quiet --loops 100 --interval 1000 2>&1 | grep -q '^T: 0 '
! in_debian sh -c 'command -v cyclictest || command -v hackbench' || fails "programs of rt-tests' names are in PATH"
# A user has only to become a member: the other steps are done.
in_debian setpriv --reuid 65534 --clear-groups --inh-caps=-all teiji check >"$root/tmp/check.txt" || true
grep -q rights-real-time "$root/tmp/check.txt" || fails "teiji check says nothing of real-time priority"
! grep -F limits.d "$root/tmp/check.txt" >&2 || fails "teiji check advises limits that are there"
# A group of the system, without members.
in_debian getent group realtime | grep -qE '^realtime:x:[0-9]{3}:$' || fails "no system group realtime without members"

apt_get install --reinstall /tmp/teiji.deb
apt_get remove teiji
[ ! -e "$root/usr/bin/teiji" ] || fails "remove leaves the program"
[ -e "$root/etc/security/limits.d/50-teiji.conf" ] || fails "remove takes a file of settings"
# What it depends on goes as well. `autoremove` would keep adduser, which Debian calls important.
packages | comm -13 "$root/tmp/packages" - | xargs chroot "$root" dpkg --purge >/dev/null
files >"$root/tmp/after"
diff -u "$root/tmp/before" "$root/tmp/after" >&2 || fails "these files differ after purge"
diff "$root/tmp/groups" <(in_debian getent group | grep -v '^realtime:') >&2 || fails "these groups differ after purge"

# A group of that name that was made by hand will do.
in_debian groupmod --gid 4000 realtime
apt_get install /tmp/teiji.deb
in_debian getent group realtime | grep -q ':4000:' || fails "the group that was there has another number"

# What the members get. The limit cannot be raised where root has no right to.
in_debian useradd --groups realtime member
if in_debian prlimit --rtprio=95 true 2>/dev/null; then
    [ "$(in_debian su member -c 'ulimit -r; ulimit -l' | paste -sd ' ')" = "95 unlimited" ] || fails "members lack their limits"
else
    printf '%s\thigher-limits\t%s\n' "members of realtime in $suite" "root has no right to raise limits" >>"${TEIJI_SKIPPED_TESTS:-/dev/stderr}"
fi

echo "$suite: installed, used and removed; $(du -sm --one-file-system "$root" | cut -f 1) MB"
