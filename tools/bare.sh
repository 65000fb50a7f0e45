#!/usr/bin/env bash
# Run commands in a clean clone on a machine that has only Python, make and git: a Debian chroot.
#
#   tools/bare.sh [FOLDER [COMMAND ...]]     the default command is "make test", then "make demo"
#
# Needs root and debootstrap. FOLDER (default: a new temporary one) holds the chroot and may be used again. The host's
# certificates and pip configuration are copied, nothing else; EYETEST_SHARED (default: ../shared) is mounted read-only.
set -euo pipefail
[ -n "${OWN_MOUNTS:-}" ] || OWN_MOUNTS=1 exec unshare --mount bash "$0" "$@" # its mounts end with it
project=$(cd "$(dirname "$0")/.." && pwd)
shared=$(cd "${EYETEST_SHARED:-$project/../shared}" 2>/dev/null && pwd || true)
root=${1:-$(mktemp -d)}
shift || true
command=${*:-make test && make demo}

if [ ! -x "$root/usr/bin/git" ]; then
  debootstrap --variant=minbase --include=python3,python3-venv,make,git,ca-certificates bookworm "$root"
fi
for file in /etc/resolv.conf /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
  [ -e "$file" ] && install -D "$file" "$root$file"
done
mkdir -p "$root/shared" "$root/clone"
rm -rf "$root/clone/eyetest"
git clone --quiet "$project" "$root/clone/eyetest"

mount --bind /proc "$root/proc"
mount --bind /dev "$root/dev"
if [ -n "$shared" ]; then
  mount --bind "$shared" "$root/shared"
  mount -o remount,bind,ro "$root/shared"
fi
chroot "$root" env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 EYETEST_SHARED=/shared \
  ${PIP_CERT:+PIP_CERT="$PIP_CERT"} ${CI:+CI="$CI"} bash -c "cd /clone/eyetest && $command"
