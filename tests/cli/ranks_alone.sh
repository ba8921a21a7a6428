#!/bin/sh
# What a verb does whose work is not shared, the first rank does alone: it prints and writes once.
# usage: ranks_alone.sh TARE MPIRUN DATA
set -eu
tare=$1
mpirun=$2
data=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$tare" quantize "$data/digits.onnx" --data "$data/digits_calibration.h5" --effort fast \
  --samples 40 --quiet -o "$work/q.onnx"

looks() {
  "$@" "$tare" accumulators "$work/q.onnx" --data "$data/digits_evaluation.h5" --samples 4 \
    --threads 1
}

# mpirun shows the program a terminal.
export NO_COLOR=1
looks >"$work/alone"
looks "$mpirun" --allow-run-as-root --oversubscribe -n 3 2>"$work/said" | tr -d '\r' >"$work/ranks"
cmp "$work/alone" "$work/ranks"
[ "$(grep -c "ranks do not share this 'accumulators'" "$work/said")" = 1 ]
