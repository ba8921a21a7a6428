"""Finds files that are too long, traces of one machine in any file, and types that share a name.

Two types of one name in headers of one library are one type to the linker, which takes the
members of either for both.

usage: repository.py ROOT
"""
import re
import shutil
import subprocess

import checks

LONGEST = 450  # lines
SOURCES = (".h", ".cpp", ".py", ".mjs", ".cmake", ".sh")
TRACES = (
    (re.compile(r"(?<![\w./])/(?:home|root|work|Users)/\w"), "a path of one machine"),
    (re.compile(r"https?://[^\s/\"]*(?:registry|artifactory|mirror)"), "the host of a registry"),
)


TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)\b(?![<:])[^;]*$")


def files(root):
    """What git tracks or would track; in an unpacked archive, everything but build folders."""
    listing = shutil.which("git") and subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=False)
    if listing and listing.returncode == 0:
        names = [name for name in listing.stdout.decode().split("\0") if name]
        return [root / name for name in sorted(names) if (root / name).is_file()]
    return [path for path in sorted(root.rglob("*")) if path.is_file()
            and not {"build", "node_modules", ".git"} & set(path.relative_to(root).parts)]


def faults(root):
    types = {}
    for path in files(root):
        name = path.relative_to(root)
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        if path.suffix in SOURCES and len(lines) > LONGEST:
            yield f"{name}: {len(lines)} lines, at most {LONGEST} wanted"
        in_library = path.suffix == ".h" and name.parts[0] in ("src", "include")
        for number, line in enumerate(lines, 1):
            defined = TYPE.match(line) if in_library else None
            if defined and types.setdefault(defined[1], name) != name:
                yield f"{name}:{number}: {types[defined[1]]} has a type '{defined[1]}' too"
            for trace, what in TRACES:
                if trace.search(line):
                    yield f"{name}:{number}: {what}"


if __name__ == "__main__":
    checks.run(faults)
