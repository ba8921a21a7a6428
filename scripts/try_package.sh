#!/bin/sh
# Installs the Debian packages in a fresh Debian 12, follows docs/guide.md there from start to end, with the guide and the
# samples that the package has, and builds the examples. Needs root and debootstrap.
# usage: try_package.sh [FOLDER]      of the packages; without it they are made first, in another fresh Debian 12
set -eu
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"  # apt reads as another user

# fresh_debian TREE
fresh_debian() {
  debootstrap --variant=minbase bookworm "$1" >&2
  mkdir "$1/work"
}
# within TREE COMMANDS
within() {
  chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -euc "$2"
}

if [ $# -eq 0 ]; then
  fresh_debian "$folder/maker"
  git ls-files -z | tar -c --null -T - | tar -x -C "$folder/maker/work"
  within "$folder/maker" 'cd work; scripts/package.sh' >&2
  set -- "$folder/maker/work/build/package/packages"
fi

fresh_debian "$folder/user"
cp "$1"/*.deb "$folder/user/work"
cp -r docs/examples "$folder/user/work"

# What the guide shows: commands after `$ ` in blocks fenced as `console`, and as files the other blocks whose first line
# is `# NAME`.
cat >"$folder/user/work/commands.awk" <<'END'
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
END

# shellcheck disable=SC2016 # expanded within
within "$folder/user" '
  cd /work
  for package in ./*.deb; do
    dpkg-deb --field "$package" Depends | grep -qE "libdnnl|libtare1" ||
      { echo "$package does not say what it depends on" >&2; exit 1; }
  done
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends ./tare_*.deb
  tare --version
  cp -r /usr/share/doc/tare/data data
  awk -f commands.awk /usr/share/doc/tare/docs/guide.md >guide.sh
  apt-get install -y -qq --no-install-recommends python3-h5py hdf5-tools
  sh -eux guide.sh
  apt-get install -y -qq --no-install-recommends ./libtare-dev_*.deb ./libtare1_*.deb cmake ninja-build g++
  for example in examples examples/offload; do
    cmake -G Ninja -S "$example" -B "build/$example" -DCMAKE_BUILD_TYPE=Release
    cmake --build "build/$example"
  done
  build/examples/search_and_report model.onnx samples.h5 labelled.h5
  build/examples/offload/offload model.onnx samples.h5
  cc -std=c11 examples/quantize.c -ltare -o build/quantize
  build/quantize model.onnx samples.h5 by_c.int8.onnx
  apt-get install -y -qq --no-install-recommends ./python3-tare_*.deb
  python3 -c "import tare; print(tare.quantize(\"model.onnx\", \"samples.h5\", out=\"by_python.int8.onnx\"))"
'
