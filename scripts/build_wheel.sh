#!/bin/sh
# Builds the Python wheel into build/python: build_wheel.sh [BUILD]. BUILD is a folder that CMake has configured; without
# one the preset `package` is built.
set -eu
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh --package
if [ $# -gt 0 ]; then
  target=tare_app
  if grep -q '^TARE_MPI:BOOL=ON' "$1/CMakeCache.txt"; then
    target=tare_alone # the wheel is for machines without MPI too
  fi
  cmake --build "$1" --target tare_c $target
fi
python3 -B python/wheel/backend.py build/python "$@"
