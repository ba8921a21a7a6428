"""Puts the library, the program and all that they need but glibc into a folder that can be anywhere.

usage: bundle.py BUILD FOLDER LICENCES

Names of bundled libraries end in a part of their digest, so that a process may have others of the same name, as
auditwheel does. What is copied, and of which package, is what `main` returns and `sbom` writes.
"""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
GLIBC = re.compile(r"(libc|libm|libpthread|libdl|librt|libresolv|libutil|ld-linux-x86-64)\.so\.\d+$")
STUBBED = ("libcurl.so.4", "libcrypto.so.3")  # see no_network.c


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def needed(path):
    return output("patchelf", "--print-needed", path).split()


def found_by(path):
    """Name -> file, of all that the loader would load for it."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", path), re.MULTILINE))


def package_of(path):
    """The Debian package that a file is of, and its version."""
    for name in (path, path.resolve(), pathlib.Path("/usr") / path.relative_to("/")):
        shown = subprocess.run(["dpkg", "-S", str(name)], check=False, capture_output=True, text=True)
        if shown.returncode == 0:
            package = shown.stdout.split(": ")[0].split(",")[0]
            return package.split(":")[0], output("dpkg-query", "-W", "-f", "${Version}", package)
    raise SystemExit(f"bundle.py: {path} is of no Debian package, so that its licence is not known")


def stub(folder):
    path = folder / "libtare-no-network.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-s", f"-Wl,--version-script={HERE}/no_network.map",
                    f"-Wl,-soname,{path.name}", "-o", path, HERE / "no_network.c"], check=True)
    return path


def closure(roots):
    """Name -> file of everything that has to be bundled."""
    todo, files = list(roots), {}
    while todo:
        path = todo.pop()
        loaded = found_by(path)
        for name in needed(path):
            if GLIBC.match(name) or name in STUBBED or name in files:
                continue
            files[name] = pathlib.Path(loaded[name])
            todo.append(files[name])
    return files


def bundle(build, folder):
    """Copies all; returns [(bundled name, package, version)]."""
    folder.mkdir(parents=True)
    library = next(path for path in sorted(build.rglob("libtare.so.*")) if not path.is_symlink())
    program = next(path for path in (build / "bin/tare_alone", build / "bin/tare") if path.exists())
    roots = [folder / library.name, folder / "tare"]
    shutil.copy2(library, roots[0])
    shutil.copy2(program, roots[1])
    files, renamed, parts = closure([library, program]), {}, []
    for name, path in sorted(files.items()):
        stem, _, suffix = name.partition(".so")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        renamed[name] = f"{stem}-{digest}.so{suffix}"
        shutil.copy2(path.resolve(), folder / renamed[name])
        parts.append((renamed[name], *package_of(path)))
    no_network = stub(folder)
    for path in [*roots, *(folder / name for name in renamed.values())]:
        path.chmod(0o755)
        if path in roots:  # before patchelf, which strip does not understand; those of Debian are stripped
            subprocess.run(["strip", "--strip-unneeded", path], check=True)
        changes = [["--replace-needed", name, no_network.name if name in STUBBED else renamed[name]]
                   for name in needed(path) if name in STUBBED or name in renamed]
        if path not in roots:
            changes.append(["--set-soname", path.name])
        # One after another: patchelf 0.14 mixes up the strings of changes that it makes at once.
        for change in [*changes, ["--set-rpath", "$ORIGIN"]]:
            subprocess.run(["patchelf", *change, path], check=True)
    require_closed(folder)
    return parts


def require_closed(folder):
    """That each file finds all it needs beside itself, or in glibc."""
    names = {path.name for path in folder.iterdir()}
    for path in sorted(folder.iterdir()):
        missing = [name for name in needed(path) if name not in names and not GLIBC.match(name)]
        place = output("patchelf", "--print-rpath", path).strip()
        if missing or (place != "$ORIGIN" and set(needed(path)) & names):
            raise SystemExit(f"bundle.py: {path.name} looks for {', '.join(missing) or 'libraries'} in '{place}'")


def copy_licences(parts, folder):
    folder.mkdir(parents=True)
    for package in sorted({package for _, package, _ in parts}):
        shutil.copy2(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")


def main(build, folder, licences):
    parts = bundle(pathlib.Path(build), pathlib.Path(folder))
    copy_licences(parts, pathlib.Path(licences))
    print(json.dumps(parts))


if __name__ == "__main__":
    main(*sys.argv[1:])
