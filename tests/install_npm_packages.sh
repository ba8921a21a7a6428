#!/bin/sh
# Installs the npm packages of the lock file in FOLDER, once, whoever asks; what npm says is in FOLDER/npm.log. Where that
# fails nobody tries again for ten minutes: without a network every test would wait for npm to give up.
# usage: install_npm_packages.sh NPM FOLDER
set -eu
npm=$1
cd "$2"
exec 9>install.lock
flock 9
if [ -e installed ]; then
  exit 0
fi
if [ -n "$(find . -maxdepth 1 -name failed -mmin -10)" ]; then
  exit 1
fi
rm -f failed
if "$npm" ci --no-audit --no-fund --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=30000 \
  >npm.log 2>&1; then
  touch installed
else
  touch failed
  exit 1
fi
