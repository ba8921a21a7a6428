#!/bin/sh
# Installs the wheel in a fresh Debian with nothing but Python, pip and numpy, without a network, and runs the Python tests
# there. Needs root and debootstrap. usage: try_wheel.sh FOLDER [RELEASE]   FOLDER has the wheel; RELEASE: bookworm
set -eu
wheels=$(realpath "$1")
release=${2:-bookworm}
cd "$(dirname "$0")/.."

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
debootstrap --variant=minbase --include=python3,python3-pip,python3-numpy "$release" "$tree" >&2
mkdir -p "$tree/work/tests"
cp "$wheels"/tare-*.whl "$tree/work"
cp -r tests/python "$tree/work/tests"
cp -r data docs python "$tree/work"
rm -r "$tree/work/python/tare" # the tests are of what is installed

# Programs find libraries beside themselves by /proc. The mount goes with its namespace.
# shellcheck disable=SC2016 # expanded within
unshare --net --mount sh -euc 'mount --bind /proc "$1/proc"; exec chroot "$@"' sh "$tree" env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root sh -euc '
  cd /work
  pip install --no-index --no-deps --break-system-packages --root-user-action=ignore tare-*.whl
  python3 -m tare --version
  TARE_PROGRAM=$(python3 -c "import pathlib, tare; print(pathlib.Path(tare.__file__).parent / \"lib/tare\")")
  export TARE_PROGRAM
  for test in tests/python/*_test.py; do
    python3 -B "$test" || [ $? = 77 ] # what it needs is not there
  done
'
