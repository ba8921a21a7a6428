#!/bin/sh
# CPU seconds and minutes on the clock of clean release builds, and of builds after a change: the table of CONTRIBUTING.md.
# usage: scripts/benchmark_build.sh
# Builds in a folder of its own, without a compiler cache, with as many jobs as there are processors. Takes as long as
# three builds; run it on a machine that does nothing else.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1
jobs=$(nproc)

# A copy, as files are touched.
mkdir "$work/tare"
tar -C "$here" --exclude=./build --exclude=./.git -cf - . | tar -C "$work/tare" -xf -
cd "$work/tare"

# measured WHAT OPTION... : configures and builds, and prints a row of the table
measured() {
  what=$1
  shift
  cmake --preset release "$@" >/dev/null
  /usr/bin/time -f '%U %S %e' -o "$work/time" cmake --build build/release -j "$jobs" >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    return 1
  }
  tail -n 1 "$work/time" | awk -v what="$what" '{printf "| %s | %.0f | %.1f |\n", what, $1 + $2, $3 / 60}'
}

printf '| build, %s jobs | CPU s | minutes |\n| --- | --- | --- |\n' "$jobs"
measured 'clean, without tests' -DTARE_BUILD_TESTS=OFF
for file in src/execute/kernels/softmax.cpp calibrators/mse.cpp patterns/dense.cpp include/tare/graph.h; do
  touch "$file"
  measured "without tests, \`$file\` touched" -DTARE_BUILD_TESTS=OFF
done
rm -rf build/release
measured 'clean, with tests' -DTARE_BUILD_TESTS=ON
