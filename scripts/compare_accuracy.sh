#!/bin/sh
# How close quantized files come to the float model in ONNX Runtime, on samples they were not calibrated on.
# usage: scripts/compare_accuracy.sh MODEL.onnx CALIBRATION.h5 EVALUATION.h5 [OPTIONS ...]
# OPTIONS: those of `tare quantize` for one file, as one word: '--effort best' '--set activations.calibrator=kl'; without
# any, the defaults. Needs a build with tests (scripts/test.sh makes one, and installs ONNX Runtime for Node.js).
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
model=$1
calibration=$2
evaluation=$3
shift 3
[ $# -gt 0 ] || set -- ''

bin=$here/build/release/bin
onnxruntime=$here/build/release/tests/onnxruntime/runner/onnxruntime.mjs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/samples_to_raw" "$model" "$evaluation" "$work" >"$work/words"

printf '%-44s %12s %15s\n' "$(basename "$model")" 'output SQNR' 'same top class'
for options in "$@"; do
  # shellcheck disable=SC2086  # words of their own
  "$bin/tare" quantize "$model" --data "$calibration" -o "$work/int8.onnx" $options --quiet >"$work/words"
  node "$onnxruntime" compare "$model" "$work/int8.onnx" "$work/SPEC.json" |
    sed 's/.*"sqnr":\([-0-9.]*\),"same_top":\([0-9.]*\).*/\1 \2/' |
    awk -v name="${options:-(defaults)}" '{ printf "%-44s %9.2f dB %13.2f %%\n", name, $1, 100 * $2 }'
done
