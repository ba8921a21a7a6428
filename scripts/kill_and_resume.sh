#!/bin/bash
# Kills `tare quantize` at random moments, each time with another number of ranks of MPI, lets the
# same command resume, and compares what comes of it with what one process makes undisturbed.
# usage: kill_and_resume.sh MODEL SAMPLES [KILLS [SEED]]
# TARE is the program, by default that of the release build, built with -DTARE_MPI=ON.
set -euo pipefail
tare=${TARE:-$(dirname "$0")/../build/release/bin/tare}
model=$1
samples=$2
kills=${3:-20}
RANDOM=${4:-$$}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quantize() {
  exec "${@:2}" "$tare" quantize "$model" --data "$samples" --threads 1 --quiet -o "$1" 2>/dev/null
}
milliseconds() {
  echo $(($(date +%s%N) / 1000000))
}

begin=$(milliseconds)
(quantize "$work/alone.onnx")
whole=$(($(milliseconds) - begin))
echo "undisturbed: $whole ms"

killed=0
finished=0
resumed=0
while [ "$killed" -lt "$kills" ] || [ "$finished" = 0 ]; do
  ranks=$((RANDOM % 4 + 1))
  if [ -e "$work/m.onnx.checkpoint" ]; then
    resumed=$((resumed + 1))
  fi
  (quantize "$work/m.onnx" mpirun --allow-run-as-root --oversubscribe --bind-to none -n "$ranks") &
  mpirun=$!
  if [ "$killed" -lt "$kills" ]; then
    sleep "$(printf '%d.%03d' $((RANDOM * whole / 32768 / 1000)) $((RANDOM % 1000)))"
    victims=($(pgrep -P "$mpirun" || true))
    if [ "${#victims[@]}" -gt 0 ]; then
      kill -9 "${victims[RANDOM % ${#victims[@]}]}" 2>/dev/null && killed=$((killed + 1))
    fi
  fi
  wait "$mpirun" || true
  if [ -e "$work/m.onnx" ]; then
    cmp "$work/alone.onnx" "$work/m.onnx"
    [ ! -e "$work/m.onnx.checkpoint" ]
    rm "$work/m.onnx"
    finished=$((finished + 1))
  fi
done
echo "$killed kills, $resumed starts from a checkpoint, $finished files of the same bytes"
