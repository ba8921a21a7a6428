#!/bin/sh
# Makes the pictures of a report in docs/: report.png and report_layer.png.
# usage: scripts/picture_report.sh REPORT.json [LAYER]   LAYER: the one to show open
# Needs a build with tests (scripts/test.sh makes one, and installs what drives the browser).
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
report=$1
shift
NODE=$(command -v node) NPM=$(command -v npm) CHROMIUM=$(command -v chromium) \
  WRITE_PAGE=$here/build/release/bin/write_page \
  "$here/tests/report_page/in_browser.sh" "$here/build/release/tests/report_page/browser/screenshots.mjs" \
  "$report" "$here/docs" "$@"
