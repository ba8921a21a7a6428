#!/bin/sh
# scripts/fuzz.sh SECONDS [TARGET...]: builds the fuzzers (clang) and runs each for so long, all by
# default. What they learn stays in build/fuzz/corpus, what they find goes to build/fuzz/found.
# Status 1 when there is a finding.
set -eu
cd "$(dirname "$0")/.."

if [ $# -lt 1 ]; then
  sed -n '2,4s/^# //p' "$0" >&2
  exit 2
fi
seconds=$1
shift
[ $# -gt 0 ] || set -- config mutants onnx quantize samples statistics table text tflite

cmake --preset fuzz >&2
cmake --build --preset fuzz >&2

scratch=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")" tare-fuzz-XXXXXX)
trap 'rm -rf "$scratch"' EXIT
status=0
printf '%-12s%9s%12s%9s%10s\n' target seconds runs corpus findings
for target in "$@"; do
  fuzzer=build/fuzz/bin/fuzz_$target
  corpus=build/fuzz/corpus/$target
  found=build/fuzz/found/$target
  cases=tests/fuzz/cases/$target
  words=tests/fuzz/words/$target.dict
  mkdir -p "$corpus" "$found"
  rm -rf "$scratch/seeds"
  TMPDIR=$scratch "$fuzzer" --seeds="$scratch/seeds"
  [ ! -d "$cases" ] || cp "$cases"/* "$scratch/seeds"
  : >"$found.log"
  runs=0
  start=$(date +%s)
  end=$((start + seconds))
  before=$(find "$found" -type f | wc -l)
  # It ends with its first finding, and is begun anew.
  while now=$(date +%s) && [ "$now" -lt "$end" ]; do
    # Libraries ask for as much at once as a file says, and are refused it or never touch it.
    TMPDIR=$scratch "$fuzzer" -max_total_time=$((end - now)) -timeout=30 -report_slow_units=30 -rss_limit_mb=3000 \
      -malloc_limit_mb=1000000 \
      -print_final_stats=1 -artifact_prefix="$found/" \
      ${words:+$([ -f "$words" ] && echo "-dict=$words")} \
      "$corpus" "$scratch/seeds" >"$scratch/log" 2>&1 || true
    runs=$((runs + $(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/log" | tail -n 1 | grep . || echo 0)))
    cat "$scratch/log" >>"$found.log"
    rm -rf "$scratch"/tare-fuzz-*
  done
  findings=$(($(find "$found" -type f | wc -l) - before))
  [ "$findings" -eq 0 ] || status=1
  printf '%-12s%9d%12d%9d%10d\n' "$target" $(($(date +%s) - start)) "$runs" \
    "$(find "$corpus" -type f | wc -l)" "$findings"
done
exit $status
