#!/bin/sh
# Runs a script that drives a browser; exits with 77 where there is none to drive.
# usage: NODE=... NPM=... CHROMIUM=... in_browser.sh SCRIPT.mjs ARGUMENT...
set -eu
for program in "$NODE" "$NPM" "$CHROMIUM"; do
  if ! [ -x "$program" ]; then
    echo "skipped: Node.js, npm or Chromium is not installed"
    exit 77
  fi
done

folder=$(dirname "$1")
if ! "$(dirname "$0")/../install_npm_packages.sh" "$NPM" "$folder"; then
  echo "skipped: npm could not install what drives the browser (see npm.log in $folder)"
  exit 77
fi
exec "$NODE" "$@"
