#!/bin/sh
# A quantized model has the same bytes whoever made it: one process, or ranks of MPI, even more
# of them than there are samples; and one that was killed goes on, with other ranks too.
# usage: ranks_quantize.sh TARE MPIRUN DATA
set -eu
tare=$1
mpirun=$2
data=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quantize() {
  samples=$1
  output=$2
  shift 2
  "$@" "$tare" quantize "$data/digits.onnx" --data "$data/digits_calibration.h5" --threads 1 \
    --samples "$samples" --table "$output.yaml" -o "$output" --json
}
on_ranks() {
  count=$1
  shift
  "$mpirun" --allow-run-as-root --oversubscribe -n "$count" "$@"
}

for samples in 200 3; do
  quantize "$samples" "$work/alone.onnx" >/dev/null 2>&1
  for count in 1 2 3 4; do
    quantize "$samples" "$work/ranks.onnx" on_ranks "$count" >"$work/summary" 2>/dev/null
    cmp "$work/alone.onnx" "$work/ranks.onnx"
    cmp "$work/alone.onnx.yaml" "$work/ranks.onnx.yaml"
    grep -q "\"ranks\": $count" "$work/summary"
    rm "$work/ranks.onnx" "$work/ranks.onnx.yaml" "$work/summary"
  done
  rm "$work/alone.onnx" "$work/alone.onnx.yaml"
done
if [ -n "$(ls "$work")" ]; then
  echo "left behind: $(ls "$work")"
  exit 1
fi
