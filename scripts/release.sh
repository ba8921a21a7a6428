#!/bin/sh
# Builds what a release has, from a clean tree and nothing else, into build/release-VERSION: the wheel, the Debian packages, a
# tarball of the program with all libraries but glibc, a recipe of a container image, checksums, and a list of what is in them
# (SBOM, SPDX 2.3). usage: release.sh [--try]; with it each is tried in a fresh tree, which takes root and debootstrap.
set -eu
cd "$(dirname "$0")/.."

if [ -n "$(git status --porcelain)" ]; then
  echo "the tree is not clean" >&2
  exit 1
fi
version=$(sed -n 's/^project(tare VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
if ! grep -q "^## \[\?$version" CHANGELOG.md; then
  echo "CHANGELOG.md has no section about $version" >&2
  exit 1
fi
out=$PWD/build/release-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$out"
mkdir -p "$out"

# A copy of what git tracks: nothing that happens to lie around is in a release.
git archive HEAD | tar -x -C "$work"
(
  cd "$work"
  scripts/package.sh
  scripts/build_wheel.sh build/package
) >&2
cp "$work"/build/package/packages/*.deb "$work"/build/python/*.whl "$out"

# The program of the wheel, which finds its libraries beside it, and what explains it.
name=tare-$version-linux-x86_64
mkdir -p "$work/tar/$name"
python3 -m zipfile -e "$out"/tare-*.whl "$work/wheel"
mv "$work/wheel/tare/lib" "$work/tar/$name/lib"
chmod 755 "$work/tar/$name"/lib/*
mv "$work/wheel/tare-$version.dist-info/licenses" "$work/tar/$name/licenses"
mkdir "$work/tar/$name/bin" "$work/tar/$name/include"
ln -s ../lib/tare "$work/tar/$name/bin/tare"
ln -s libtare.so.1 "$work/tar/$name/lib/libtare.so"
cp -r "$work/include/tare" "$work/tar/$name/include/"
cp "$work/README.md" "$work/CHANGELOG.md" "$work/tar/$name"
tar -C "$work/tar" --sort=name --owner=0 --group=0 --mtime="@$(git log -1 --format=%ct)" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"

cat >"$out/Containerfile" <<END
# An image with the program: docker build -t tare:$version -f Containerfile .
FROM debian:12-slim
COPY tare_${version}_amd64.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/tare_${version}_amd64.deb \\
  && rm -rf /var/lib/apt/lists/* /tmp/*.deb
ENTRYPOINT ["tare"]
END

python3 -B python/wheel/sbom.py "$work/tar/$name/licenses/bundled/README.txt" "$version" "$(git log -1 --format=%cI)" \
  >"$out/tare-$version.spdx.json"
(cd "$out" && sha256sum -- * >SHA256SUMS)

if [ "${1:-}" = --try ]; then
  scripts/try_package.sh "$out" >&2
  scripts/try_wheel.sh "$out" >&2
fi
ls -l "$out"
