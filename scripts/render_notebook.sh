#!/bin/sh
# Runs docs/notebook.ipynb and writes docs/notebook.html. Needs nbconvert, ipykernel, and the package tare where Python finds
# it, or PYTHONPATH and TARE_LIBRARY that name it. usage: scripts/render_notebook.sh [PYTHON]
set -eu
python=${1:-python3}
cd "$(dirname "$0")/../docs"
work=$(mktemp -d)
trap 'rm -rf "$work" digits.int8.onnx digits.html' EXIT
"$python" -W ignore -m nbconvert --to notebook --execute --inplace --ClearMetadataPreprocessor.enabled=True notebook.ipynb
"$python" -m nbconvert --to html --template basic --output-dir "$work" notebook.ipynb
cat >notebook.html - "$work/notebook.html" <<'END'
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>From an exported network to a report</title>
<style>
body { max-width: 60em; margin: 2em auto; padding: 0 1em; font-family: sans-serif; line-height: 1.5; }
pre { overflow-x: auto; padding: 0.5em; background: #f4f4f4; font-size: 0.9em; line-height: 1.35; }
.output pre { background: none; border-left: 3px solid #ccc; }
th { vertical-align: top; padding-right: 1em; }
.prompt, .anchor-link { display: none; }
</style>
END
