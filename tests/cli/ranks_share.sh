#!/bin/sh
# What compare, evaluate and search say and write has the same bytes whoever does it: one process,
# or ranks of MPI, even more of them than there are samples.
# usage: ranks_share.sh TARE MPIRUN DATA
set -eu
tare=$1
mpirun=$2
data=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# mpirun shows the program a terminal.
export NO_COLOR=1
on_ranks() {
  count=$1
  shift
  "$mpirun" --allow-run-as-root --oversubscribe -n "$count" "$@"
}

"$tare" quantize "$data/digits.onnx" --data "$data/digits_calibration.h5" --effort fast \
  --samples 40 --quiet -o "$work/q.onnx"

# With a report, whose findings are tried.
compares() {
  samples=$1
  shift
  "$@" "$tare" compare "$data/digits.onnx" "$work/q.onnx" --data "$data/digits_evaluation.h5" \
    --samples "$samples" --threads 1 --report "$work/report.json"
}
evaluates() {
  samples=$1
  shift
  "$@" "$tare" evaluate "$work/q.onnx" --data "$data/digits_evaluation.h5" \
    --samples "$samples" --threads 1
}
# Ends with status 1, as nothing meets the second requirement.
searches() {
  samples=$1
  shift
  rm -f "$work/searched.onnx"
  status=0
  "$@" "$tare" search "$data/digits.onnx" --data "$data/digits_calibration.h5" \
    --samples "$samples" --threads 1 --require 'output.sqnr>=40' --require 'top1.agreement>100' \
    -o "$work/searched.onnx" --report "$work/report.json" || status=$?
  [ "$status" = 1 ]
  [ ! -e "$work/searched.onnx.checkpoint" ]
}

within_budget() {
  samples=$1
  shift
  rm -f "$work/searched.onnx"
  "$@" "$tare" search "$data/digits.onnx" --data "$data/digits_calibration.h5" \
    --samples "$samples" --threads 1 --budget size=100kB -o "$work/searched.onnx"
}

for verb in compares evaluates searches within_budget; do
  for samples in 50 2; do
    "$verb" "$samples" >"$work/alone" 2>"$work/said_alone"
    for file in report.json searched.onnx; do
      [ ! -e "$work/$file" ] || mv "$work/$file" "$work/alone_$file"
    done
    for count in 2 3; do
      "$verb" "$samples" on_ranks "$count" 2>"$work/said" | tr -d '\r' >"$work/ranks"
      cmp "$work/alone" "$work/ranks"
      for file in report.json searched.onnx; do
        [ ! -e "$work/alone_$file" ] || cmp "$work/alone_$file" "$work/$file"
      done
    done
    rm -f "$work"/alone* "$work"/report.json "$work"/searched.onnx
  done
done

# An error is said once.
status=0
on_ranks 3 "$tare" evaluate "$data/digits.onnx" --data "$work/none.h5" 2>"$work/said" || status=$?
[ "$status" = 2 ]
[ "$(grep -c "error: $work/none.h5" "$work/said")" = 1 ]
