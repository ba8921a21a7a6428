#!/bin/sh
# Seconds for whole processes, beside ONNX Runtime, on the same samples and threads, in one run.
# usage: scripts/compare_speed.sh MODEL.onnx SAMPLES.h5 [THREADS [ROUNDS]]
# Needs a build with tests (scripts/test.sh makes one, and installs ONNX Runtime for Node.js).
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
model=$1
samples=$2
threads=${3:-2}
rounds=${4:-3}

bin=$here/build/release/bin
onnxruntime=$here/build/release/tests/onnxruntime/runner/onnxruntime.mjs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/samples_to_raw" "$model" "$samples" "$work" >"$work/words"

now() { date +%s.%N; }
# timed NAME COMMAND... : one line "NAME seconds"
timed() {
  name=$1
  shift
  begin=$(now)
  "$@" >"$work/words" 2>&1 || { cat "$work/words" >&2; exit 1; }
  echo "$name $begin $(now)" | awk '{printf "%s %.3f\n", $1, $3 - $2}'
}

round=0
while [ "$round" -lt "$rounds" ]; do
  timed onnxruntime_float_pass node "$onnxruntime" pass "$model" "$work/SPEC.json" --threads "$threads"
  timed tare_run "$bin/tare" run "$model" --data "$samples" -o "$work/out.h5" \
    --threads "$threads" --quiet
  timed tare_calibrate "$bin/tare" calibrate "$model" --data "$samples" -o "$work/out.h5" \
    --threads "$threads" --quiet
  timed tare_quantize "$bin/tare" quantize "$model" --data "$samples" -o "$work/out.onnx" \
    --threads "$threads" --quiet
  round=$((round + 1))
done | awk -v threads="$threads" '
  !($1 in best) || $2 < best[$1] { best[$1] = $2 }
  END {
    base = best["onnxruntime_float_pass"]
    printf "whole processes, %d threads, best of each      seconds  ratio\n", threads
    printf "ONNX Runtime float pass (Node.js)            %8.2f  %5.2f\n", base, 1
    printf "tare run                                     %8.2f  %5.2f\n", best["tare_run"], best["tare_run"] / base
    printf "tare calibrate                               %8.2f  %5.2f\n", best["tare_calibrate"], best["tare_calibrate"] / base
    printf "tare quantize                                %8.2f  %5.2f\n", best["tare_quantize"], best["tare_quantize"] / base
  }'
