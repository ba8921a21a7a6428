#!/bin/sh
# CPU seconds and memory of the verbs by the number of nodes, of networks that differ in nothing else. The last column is
# how much longer it takes than with half as many: 2 where time grows with the nodes.
# usage: scripts/benchmark_growth.sh [--largest NODES] [KIND...]
# Kinds are convolutions, residual, side_by_side and elementwise; all of them where none is named. Each is run with 125,
# 250, 500, ... nodes, up to 8000 where nothing else is said. TARE names another program than build/release/bin/tare.
# Needs a build with -DTARE_BUILD_BENCHMARKS=ON.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
bin=$here/build/release/bin
tare=${TARE:-$bin/tare}
largest=8000
if [ "${1:-}" = --largest ]; then
  largest=$2
  shift 2
fi
[ $# -gt 0 ] || set -- convolutions residual side_by_side elementwise
if [ ! -x "$bin/tare_growth_networks" ]; then
  echo "configure with -DTARE_BUILD_BENCHMARKS=ON and build tare_growth_networks" >&2
  exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# measured NAME COMMAND... : one line "NAME nodes seconds mebibytes"
measured() {
  name=$1
  shift
  /usr/bin/time -f '%U %S %M' -o "$work/time" "$@" >"$work/words" 2>&1 || {
    cat "$work/words" >&2
    return 1
  }
  awk -v name="$name" -v nodes="$nodes" '{print name, nodes, $1 + $2, $3 / 1024}' "$work/time"
}

run_verbs() {
  model=$work/model.onnx
  samples=$work/samples.h5
  int8=$work/int8.onnx
  measured explain "$tare" explain "$model"
  measured run "$tare" run "$model" --data "$samples" -o "$work/outputs.h5" --quiet
  measured quantize_fast "$tare" quantize "$model" --data "$samples" -o "$int8" --effort fast --quiet
  measured quantize_fast_qnn "$tare" quantize "$model" --data "$samples" -o "$work/qnn.onnx" --effort fast \
    --target qnn --quiet
  measured accumulators "$tare" accumulators "$work/qnn.onnx" --data "$samples"
  measured compare_report "$tare" compare "$model" "$work/qnn.onnx" --data "$samples" --report "$work/report.html"
  measured quantize "$tare" quantize "$model" --data "$samples" -o "$int8" --quiet
}

for kind in "$@"; do
  nodes=125
  while [ "$nodes" -le "$largest" ]; do
    "$bin/tare_growth_networks" "$kind" "$nodes" "$work"
    run_verbs
    nodes=$((2 * nodes))
  done >"$work/table"
  printf '%-18s %7s %9s %7s %7s\n' "$kind" nodes seconds MiB times
  sort -s -k 1,1 "$work/table" | awk '
    { times = $1 == verb && before > 0 ? sprintf("%7.2f", $3 / before) : "" }
    { printf "%-18s %7d %9.2f %7.0f %s\n", $1, $2, $3, $4, times; verb = $1; before = $3 }'
done
