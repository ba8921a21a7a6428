#!/bin/sh
# Installs the Debian packages that are missing; --tests also those that only the tests need, --package those that
# make packages.
set -eu

packages="cmake ninja-build g++ libdnnl-dev ocl-icd-opencl-dev libtbb-dev libhdf5-dev
  libjpeg-dev libpng-dev libsndfile1-dev zlib1g-dev libdeflate-dev
  libyaml-cpp-dev libonnx-dev libprotobuf-dev protobuf-compiler
  libflatbuffers-dev flatbuffers-compiler libfmt-dev libeigen3-dev
  nlohmann-json3-dev libcxxopts-dev libxxhash-dev"
if [ "${1:-}" = --tests ]; then
  packages="$packages libgtest-dev librapidcheck-dev libonnx-testdata libopenmpi-dev openmpi-bin
    python3 python3-h5py python3-numpy mypy dpkg-dev patchelf hdf5-tools nodejs npm chromium fish man-db zsh"
fi

if [ "${1:-}" = --package ]; then
  packages="$packages dpkg-dev file patchelf python3"
fi

# The program that makes a package unnecessary when it came from somewhere else.
program_of() {
  case $1 in
    chromium | cmake | npm | python3) echo "$1" ;;
    ninja-build) echo ninja ;;
    nodejs) echo node ;;
  esac
}

missing=
for package in $packages; do
  program=$(program_of "$package")
  if [ -n "$program" ] && command -v "$program" >/dev/null; then
    continue
  fi
  if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$'; then
    missing="$missing $package"
  fi
done
if [ -z "$missing" ]; then
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "no apt-get here; install what corresponds to these Debian packages:$missing" >&2
  exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
  as_root="sudo"
fi
echo "installing:$missing" >&2
$as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends $missing
