#!/bin/sh
# How long a float model and quantized ones take in an engine, each measured against the float model, in turn.
# usage: scripts/compare_latency.sh MODEL.onnx SAMPLES.h5 [OTHER.onnx ...]
# Files: the model, what Tare makes of it by the costs of its target, what it makes with --engine, what ONNX Runtime's own
# quantizer makes with uint8 and with int8 activations, and OTHERs, quantized by another tool. ENGINE (onnxruntime) is for
# --engine, THREADS (1) its threads, PYTHON (python3) has onnxruntime, onnx and h5py; without these the files of that
# quantizer are left out. TARE (build/release/bin/tare) is the program. Needs a build.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
model=$1
samples=$2
shift 2

tare=${TARE:-$here/build/release/bin/tare}
engine=${ENGINE:-onnxruntime}
threads=${THREADS:-1}
work=$(mktemp -d "${SCRATCH:-/tmp}/latency-XXXXXX")
trap 'rm -rf "$work"' EXIT
"$tare" quantize "$model" --data "$samples" -o "$work/tare.onnx" --quiet >"$work/words"
"$tare" quantize "$model" --data "$samples" -o "$work/tare, measured.onnx" --quiet --require-measured \
  --engine "$engine" --engine-threads "$threads" >"$work/words"
for type in uint8 int8; do
  out="$work/onnxruntime, $type.onnx"
  if ${PYTHON:-python3} "$here/scripts/quantize_with_onnxruntime.py" "$model" "$samples" "$out" QDQ "$type" >"$work/words" 2>&1; then
    set -- "$out" "$@"
  else
    echo "no file of ONNX Runtime's quantizer for $type: $(tail -n 1 "$work/words")" >&2
  fi
done

row() {
  printf '%-44s %12s %10s  %s\n' "$@"
}
row "" milliseconds speed-up "95 %"
shown=
for file in "$work/tare.onnx" "$work/tare, measured.onnx" "$@"; do
  "$tare" measure "$model" "$file" --engine "$engine" --threads "$threads" --data "$samples" >"$work/measured"
  if [ -z "$shown" ]; then
    shown=yes
    row "$(basename "$model"), float" "$(sed -n 's/^first *\([0-9.]*\) ms.*/\1/p' "$work/measured")" 1.00x
  fi
  row "$(basename "$file" .onnx)" "$(sed -n 's/^second *\([0-9.]*\) ms.*/\1/p' "$work/measured")" \
    "$(sed -n 's/^ratio .* is \([0-9.]*x\) as.*/\1/p' "$work/measured")" \
    "$(sed -n 's/^ratio .*(\([0-9. to]*\)).*/\1/p' "$work/measured")"
done
sed -n 's/^engine *//p' "$work/measured"
