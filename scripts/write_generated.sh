#!/bin/sh
# Regenerates docs/reference, the JSON Schema and the Python classes of the configuration, the golden ranges of calibrators,
# and the expected prints of the program, but for those with placeholders in them.
# usage: scripts/write_generated.sh
# Needs build/release, built with tests. Look at what it changed: the tests hold Tare against these files.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here"
export TARE_WRITE_GENERATED=1
written() {
  ctest --preset release -R "$1" >/dev/null || true  # what is not written says so in the tests
}
written '(^Pages/Reference|^Golden\.EveryCalibrator)'
scripts/write_config.py
written '^CommandLine/Case'
git diff --stat -- docs/reference configs python tests/calibrate tests/cli 2>/dev/null || true
