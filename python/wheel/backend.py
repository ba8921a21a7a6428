"""Builds the wheel, for `pip install .` (PEP 517) and for scripts/build_wheel.sh, with the standard library alone.

usage: backend.py FOLDER [BUILD]   writes the wheel into a folder, of a build of CMake or else of a new one
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bundle  # noqa: E402  # pylint: disable=wrong-import-position

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/package"
TIME = (2020, 1, 1, 0, 0, 0)  # of files in the archive: the same input gives the same bytes


def version():
    return re.search(r"project\(tare VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def glibc():
    """(2, 36) of the machine that builds, which is the least that the wheel needs."""
    return tuple(int(part) for part in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))


def tag():
    major, minor = glibc()
    return f"py3-none-manylinux_{major}_{minor}_x86_64"


def metadata():
    return f"""Metadata-Version: 2.1
Name: tare
Version: {version()}
Summary: Calibrates float neural networks and rewrites them to int8
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy>=1.24
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{(ROOT / "docs/python.md").read_text()}"""


def compile_all():
    """A build of the library and the program, as Debian's packages have them."""
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    for command in (["cmake", "--preset", "package"], ["cmake", "--build", BUILD, "-j", jobs, "--target", "tare_c", "tare_app"]):
        subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
    return BUILD


def record(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def write_zip(folder, path, info):
    """All files of the folder, with the list of them that installers want, last."""
    lines = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(entry for entry in folder.rglob("*") if entry.is_file()):
            name, data = file.relative_to(folder).as_posix(), file.read_bytes()
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # pip makes executable what is, and is a regular file.
            entry.external_attr = (stat.S_IFREG | (0o755 if os.access(file, os.X_OK) else 0o644)) << 16
            archive.writestr(entry, data)
            lines += record(name, data)
        entry = zipfile.ZipInfo(f"{info}/RECORD", TIME)
        entry.external_attr = (stat.S_IFREG | 0o644) << 16
        archive.writestr(entry, lines + f"{info}/RECORD,,\n")


def make(folder, build):
    """The wheel; returns its name, and what is bundled in it."""
    name, info = f"tare-{version()}-{tag()}.whl", f"tare-{version()}.dist-info"
    with tempfile.TemporaryDirectory(prefix="tare-wheel-") as work:
        tree = pathlib.Path(work)
        shutil.copytree(ROOT / "python/tare", tree / "tare",
                        ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache", "*.pyc"))
        parts = bundle.bundle(pathlib.Path(build), tree / "tare/lib")
        licences = tree / info / "licenses"
        bundle.copy_licences(parts, licences / "bundled")
        shutil.copy2(ROOT / "LICENSE", licences / "LICENSE")
        (licences / "bundled/README.txt").write_text("Libraries of Debian that are in tare/lib, and their packages:\n"
                                                     + "".join(f"{file}: {package} {release}\n" for file, package, release in parts))
        (tree / info / "METADATA").write_text(metadata())
        (tree / info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tare\nRoot-Is-Purelib: false\nTag: {tag()}\n")
        (tree / info / "entry_points.txt").write_text("[console_scripts]\ntare = tare.__main__:main\n")
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        partial = pathlib.Path(folder) / f".{name}.partial"
        write_zip(tree, partial, info)
        partial.rename(pathlib.Path(folder) / name)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517."""
    return make(wheel_directory, (config_settings or {}).get("build") or compile_all())


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517."""
    name = f"tare-{version()}"
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for file in listing.splitlines():
            archive.add(ROOT / file, f"{name}/{file}")
    return f"{name}.tar.gz"


if __name__ == "__main__":
    print(make(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else compile_all()))
