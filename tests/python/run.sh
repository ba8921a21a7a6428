#!/bin/sh
# Runs a Python with the words behind it; 77, skipped, where it has no numpy, or no mypy that is asked for.
set -eu
python=$1
shift
"$python" -c "import numpy" 2>/dev/null || exit 77
if [ "$1" = -m ]; then
  "$python" -c "import $2" 2>/dev/null || exit 77
fi
exec "$python" -B "$@"
