#!/bin/sh
# Makes the wheel of a build, and quantizes with what is in it. 77, skipped, without numpy or what makes wheels.
# usage: wheel.sh PYTHON BUILD
set -eu
python=$1
build=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
"$python" -c "import numpy" 2>/dev/null || exit 77
for tool in patchelf strip dpkg-query; do
  command -v "$tool" >/dev/null || exit 77
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -B "$root/python/wheel/backend.py" "$work" "$build"
size=$(stat -c %s "$work"/*.whl)
if [ "$size" -gt 40000000 ]; then
  echo "the wheel has $size bytes"
  exit 1
fi
# As pip unpacks it.
"$python" -B - "$work"/*.whl "$work/installed" <<'END'
import pathlib
import stat
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    for entry in wheel.infolist():
        path = pathlib.Path(wheel.extract(entry, sys.argv[2]))
        mode = entry.external_attr >> 16
        path.chmod(0o755 if stat.S_ISREG(mode) and mode & 0o111 else 0o644)
END
cd "$root/data"
env -u TARE_LIBRARY PYTHONPATH="$work/installed" "$python" -B -W ignore - "$work/own.onnx" <<'END'
import pathlib
import subprocess
import sys

import tare

own = pathlib.Path(sys.argv[1])
tare.quantize("digits.onnx", "digits_calibration.h5", effort="fast", evaluate=False).save(own)
program = own.with_name("program.onnx")
subprocess.run([sys.executable, "-m", "tare", "quantize", "digits.onnx", "--data", "digits_calibration.h5", "--effort", "fast",
                "--quiet", "-o", program], check=True)
assert own.read_bytes() == program.read_bytes()
END
