#!/bin/sh
# Builds the program, quantizes the sample network in data/ and shows what that cost.
set -eu
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh
cmake --preset release -DTARE_BUILD_TESTS=OFF >&2
cmake --build --preset release >&2

tare=build/release/bin/tare
out=build/quickstart
float=data/digits.onnx
int8=$out/digits.int8.onnx
samples=data/digits_evaluation.h5
mkdir -p "$out"

"$tare" quantize "$float" --data data/digits_calibration.h5 -o "$int8" >&2

top1() {
  "$tare" evaluate "$1" --data "$samples" --json |
    sed -n 's/.*"value": *\([0-9.]*\).*/\1/p'
}
row() {
  bytes=$(wc -c <"$2")
  top1 "$2" | awk -v name="$1" -v bytes="$bytes" -v file="$2" \
    '{printf "%-6s %8.2f %% %12d   %s\n", name, 100 * $1, bytes, file}'
}
echo
echo "model  accuracy        bytes   file"
row float "$float"
row int8 "$int8"
echo
echo "Accuracy: share of right answers on the samples of $samples."
