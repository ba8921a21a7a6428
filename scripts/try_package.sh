#!/bin/sh
# Installs the Debian packages in a fresh Debian 12, and there follows docs/guide.md from start to end and builds a
# program. Needs root and debootstrap.
# usage: try_package.sh [FOLDER]      of the packages; without it they are made first
set -eu
cd "$(dirname "$0")/.."

packages=${1:-build/package/packages}
if [ $# -eq 0 ]; then
  scripts/install_dependencies.sh
  cmake --workflow --preset package >&2
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"  # apt reads as another user
debootstrap --variant=minbase bookworm "$root" >&2
mkdir "$root/work"
cp "$packages"/*.deb "$root/work"
cp -r data docs/examples/offload "$root/work"

# What the guide shows: commands after `$ ` in blocks fenced as `console`, and as files the other blocks whose first line
# is `# NAME`.
awk '
  /^```/ {
    if (in_file) print "END"
    in_console = !in_block && $0 == "```console"
    is_first = !in_block && !in_console
    in_file = 0
    in_block = !in_block
    next
  }
  is_first { is_first = 0; if (NF == 2 && $1 == "#") { in_file = 1; print "cat >" $2 " <<\047END\047" } }
  in_file { print }
  in_console && sub(/^\$ /, "") { print }
' docs/guide.md >"$root/work/guide.sh"

# shellcheck disable=SC2016 # expanded within
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -euc '
  cd /work
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends ./tare_*.deb
  tare --version
  apt-get install -y -qq --no-install-recommends python3-h5py hdf5-tools
  sh -eux guide.sh
  apt-get install -y -qq --no-install-recommends ./libtare-dev_*.deb cmake ninja-build g++
  cmake -G Ninja -S offload -B build -DCMAKE_BUILD_TYPE=Release
  cmake --build build
  build/offload model.onnx samples.h5
'
