#!/bin/sh
# Statistics have the same bytes whoever collected them: one process, or ranks of MPI, even more
# of them than there are samples.
# usage: ranks.sh TARE MPIRUN DATA
set -eu
tare=$1
mpirun=$2
data=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

collect() {
  samples=$1
  output=$2
  shift 2
  "$@" "$tare" calibrate "$data/digits.onnx" --data "$data/digits_calibration.h5" --quiet \
    --threads 1 --samples "$samples" -o "$output"
}

for samples in 200 31 2; do
  collect "$samples" "$work/alone.h5"
  for count in 1 2 3; do
    collect "$samples" "$work/ranks.h5" \
      "$mpirun" --allow-run-as-root --oversubscribe -n "$count"
    cmp "$work/alone.h5" "$work/ranks.h5"
    rm "$work/ranks.h5"
  done
  rm "$work/alone.h5"
done
# Ranks with files of their own: here links to the same.
collect 200 "$work/alone.h5"
"$tare" merge "$work/alone.h5" "$work/alone.h5" -o "$work/twice.h5" --quiet
ln -s "$data/digits_calibration.h5" "$work/part-0.h5"
ln -s "$data/digits_calibration.h5" "$work/part-1.h5"
"$mpirun" --allow-run-as-root --oversubscribe -n 2 "$tare" calibrate "$data/digits.onnx" \
  --data "$work/part-%r.h5" --quiet --threads 1 -o "$work/ranks.h5"
cmp "$work/twice.h5" "$work/ranks.h5"
rm "$work"/part-?.h5 "$work/alone.h5" "$work/twice.h5" "$work/ranks.h5"

if [ -n "$(ls "$work")" ]; then
  echo "left behind: $(ls "$work")"
  exit 1
fi
