#!/bin/sh
# Makes the Debian packages tare, libtare-dev, libtare1 and python3-tare, with whatever that needs installed first, and prints their paths.
set -eu
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh --package
rm -rf build/package/packages
cmake --workflow --preset package >&2
ls build/package/packages/*.deb
