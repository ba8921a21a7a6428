#!/bin/sh
# Installs the Debian packages in a fresh Debian 12 and there quantizes the sample network and
# builds a program. Needs root and debootstrap.
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
cp "$packages"/*.deb data/digits* "$root/work"
cp -r docs/examples/offload "$root/work"

# shellcheck disable=SC2016 # expanded within
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -euc '
  cd /work
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends ./tare_*.deb
  tare --version
  tare quantize digits.onnx --data digits_calibration.h5 -o digits.int8.onnx
  tare evaluate digits.int8.onnx --data digits_evaluation.h5
  apt-get install -y -qq --no-install-recommends ./libtare-dev_*.deb cmake ninja-build g++
  cmake -G Ninja -S offload -B build -DCMAKE_BUILD_TYPE=Release
  cmake --build build
  build/offload digits.onnx digits_calibration.h5
'
