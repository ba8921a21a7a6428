#!/bin/sh
# Writes the files again that follow from what there is: docs/reference, the JSON Schema and the Python classes of the
# configuration, the golden ranges of calibrators, and what the program is expected to print where that is written out whole.
# usage: scripts/write_generated.sh
# Needs build/release with its tests, built. Look at what it changed: the tests hold Tare against these files.
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
git status --short docs/reference configs python tests
