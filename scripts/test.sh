#!/bin/sh
# Builds everything and runs all tests. The last line counts them: N passed, N failed[, N skipped]
set -eu
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh --tests
cmake --preset release -DTARE_BUILD_TESTS=ON -DTARE_MPI=ON
cmake --build --preset release

results=build/release/tests.xml
rm -f "$results"
status=0
ctest --preset release -j "$(nproc)" --output-junit "$PWD/$results" || status=$?

# The first line of the file that names a count of each kind holds that of the whole run.
count() {
  sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$results" | head -n 1
}
if [ ! -f "$results" ]; then
  echo "0 passed, 1 failed"
  exit 1
fi
failed=$(count failures)
skipped=$(($(count skipped) + $(count disabled)))
passed=$(($(count tests) - failed - skipped))
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
  failed=1
fi
if [ "$skipped" -eq 0 ]; then
  echo "$passed passed, $failed failed"
else
  echo "$passed passed, $failed failed, $skipped skipped"
fi
[ "$failed" -eq 0 ]
