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

for samples in 50 2; do
  quantize "$samples" "$work/alone.onnx" >/dev/null 2>&1
  for count in 1 3; do
    quantize "$samples" "$work/ranks.onnx" on_ranks "$count" >"$work/summary" 2>/dev/null
    cmp "$work/alone.onnx" "$work/ranks.onnx"
    cmp "$work/alone.onnx.yaml" "$work/ranks.onnx.yaml"
    grep -q "\"ranks\": $count" "$work/summary"
    rm "$work/ranks.onnx" "$work/ranks.onnx.yaml" "$work/summary"
  done
  rm "$work/alone.onnx" "$work/alone.onnx.yaml"
done

# Killed after a while, wherever it is then. A kill may leave the file in the making behind.
quantize 200 "$work/alone.onnx" >/dev/null 2>&1
mkdir "$work/killed"
found=0
for wait in 0.1 0.2 0.4 0.8 1.6 3.2; do
  "$tare" quantize "$data/digits.onnx" --data "$data/digits_calibration.h5" --threads 1 \
    --samples 200 --quiet -o "$work/killed/m.onnx" >/dev/null 2>&1 &
  sleep "$wait"
  kill -9 $! 2>/dev/null || true
  wait $! 2>/dev/null || true
  if [ -e "$work/killed/m.onnx.checkpoint" ]; then
    found=1
  fi
  if [ -e "$work/killed/m.onnx" ]; then
    break
  fi
done
[ "$found" = 1 ]
quantize 200 "$work/killed/m.onnx" on_ranks 2 >/dev/null 2>&1
cmp "$work/alone.onnx" "$work/killed/m.onnx"
[ ! -e "$work/killed/m.onnx.checkpoint" ]
rm -r "$work"/alone.onnx* "$work/killed"

if [ -n "$(ls "$work")" ]; then
  echo "left behind: $(ls "$work")"
  exit 1
fi
