#!/bin/sh
# Milliseconds for one sample in ONNX Runtime, one thread: the float model, the file that Tare makes of it, and others.
# usage: scripts/compare_latency.sh MODEL.onnx SAMPLES.h5 [OTHER.onnx ...]
# Where python3 has onnxruntime, onnx and h5py, the file of ONNX Runtime's own quantizer is measured as well. OTHER: the
# same model quantized by another tool. All samples pass through each file five times, in turn; the fastest
# pass counts. Needs a build with tests (scripts/test.sh makes one, and installs ONNX Runtime for Node.js).
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
model=$1
samples=$2
shift 2

bin=$here/build/release/bin
onnxruntime=$here/build/release/tests/onnxruntime/runner/onnxruntime.mjs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/samples_to_raw" "$model" "$samples" "$work" >"$work/words"
"$bin/tare" quantize "$model" --data "$samples" -o "$work/tare.onnx" --quiet >"$work/words"

if python3 "$here/scripts/quantize_with_onnxruntime.py" "$model" "$samples" "$work/onnxruntime.onnx" >"$work/words" 2>&1; then
  set -- "$work/onnxruntime.onnx" "$@"
else
  echo "no file of ONNX Runtime's quantizer: $(tail -n 1 "$work/words")" >&2
fi

round=0
while [ "$round" -lt 5 ]; do
  for file in "$model" "$work/tare.onnx" "$@"; do
    seconds=$(node "$onnxruntime" run "$file" "$work/SPEC.json" "$work/out" | sed 's/.*"samples":\([0-9]*\).*"seconds_run":\([0-9.]*\).*/\2 \1/')
    echo "$seconds $(basename "$file")"
  done
  round=$((round + 1))
done | awk '
  { ms = 1000 * $1 / $2; if (!($3 in best)) { order[++n] = $3 } if (!($3 in best) || ms < best[$3]) { best[$3] = ms } }
  END {
    printf "%-44s %12s %8s\n", "ONNX Runtime, one thread, one sample", "milliseconds", "speed-up"
    for (i = 1; i <= n; ++i) printf "%-44s %12.3f %7.2fx\n", order[i], best[order[i]], best[order[1]] / best[order[i]]
  }'
