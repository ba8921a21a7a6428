#!/bin/sh
# Runs a Python with the words behind it; 77, skipped, where it has no numpy, or no mypy that is asked for.
# TARE_PRELOAD: the runtime of AddressSanitizer, which has to be there before Python is; then what it finds fails the test, but
# for leaks in which the library has no part, as Python frees little at its end.
set -eu
python=$1
shift
"$python" -c "import numpy" 2>/dev/null || exit 77
if [ "$1" = -m ]; then
  "$python" -c "import $2" 2>/dev/null || exit 77
fi
if [ "$1" = -m ] || [ -z "${TARE_PRELOAD:-}" ]; then
  exec "$python" -B "$@"
fi

root=$(cd "$(dirname "$0")/../.." && pwd)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
status=0
# Python's own allocator would hide from the sanitizer what becomes of small objects.
env "LD_PRELOAD=$TARE_PRELOAD" PYTHONMALLOC=malloc LSAN_OPTIONS=exitcode=0 \
  "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$logs/log" "$python" -B "$@" || status=$?
found=$(find "$logs" -type f -exec awk -v RS= -v root="$root/" '
  /ERROR: AddressSanitizer|runtime error:/ || /leak of/ && (index($0, root) || /libtare/) { print $0 "\n" }
' {} +)
if [ -n "$found" ]; then
  echo "$found"
  exit 1
fi
exit "$status"
