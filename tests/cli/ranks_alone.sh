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

compares() {
  "$@" "$tare" compare "$data/digits.onnx" "$work/q.onnx" --data "$data/digits_evaluation.h5" \
    --samples 20 --threads 1 --report "$work/report.json"
}
on_ranks() {
  "$mpirun" --allow-run-as-root --oversubscribe -n 3 "$@"
}

# mpirun shows the program a terminal.
export NO_COLOR=1
compares >"$work/alone"
compares on_ranks 2>"$work/said" | tr -d '\r' >"$work/ranks"
cmp "$work/alone" "$work/ranks"
[ "$(grep -c "ranks do not share 'compare'" "$work/said")" = 1 ]

status=0
on_ranks "$tare" evaluate "$data/digits.onnx" --data "$work/none.h5" 2>"$work/said" || status=$?
[ "$status" = 2 ]
[ "$(grep -c "error: $work/none.h5" "$work/said")" = 1 ]
