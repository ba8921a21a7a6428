#!/bin/sh
# Installs the wheel in a fresh Debian with nothing but Python, pip and numpy, without a network, and runs the Python tests
# there; where the release has ONNX Runtime, as trixie does, once more beside that and onnx. Needs root and debootstrap.
# usage: try_wheel.sh FOLDER [RELEASE]   FOLDER has the wheel; RELEASE: bookworm
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

# What runs in the tree, with its PATH and without a network. Programs find libraries beside themselves by /proc; the mount
# goes with its namespace.
inside() {
  # shellcheck disable=SC2016 # expanded within
  unshare --net --mount sh -euc 'mount --bind /proc "$1/proc"; exec chroot "$@"' sh "$tree" \
    env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root sh -euc "$1"
}
# shellcheck disable=SC2016 # expanded within
tests='
  cd /work
  TARE_PROGRAM=$(python3 -c "import pathlib, tare; print(pathlib.Path(tare.__file__).parent / \"lib/tare\")")
  export TARE_PROGRAM TARE_PROCESSOR=any # tests count on the general costs of targets
  for test in tests/python/*_test.py; do
    python3 -B "$test" || [ $? = 77 ] # what it needs is not there
  done
'
inside '
  cd /work
  pip install --no-index --no-deps --break-system-packages --root-user-action=ignore tare-*.whl
  python3 -m tare --version
'
inside "$tests"

chroot "$tree" apt-get update -q >&2
if chroot "$tree" apt-cache show python3-onnxruntime >/dev/null 2>&1; then
  # The last two are what its quantizer imports.
  DEBIAN_FRONTEND=noninteractive chroot "$tree" apt-get install -y -q --no-install-recommends python3-onnx python3-onnxruntime \
    python3-packaging python3-sympy >&2
  inside "$tests"
fi
