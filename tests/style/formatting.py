"""Fails when clang-format would change a source file, be it one that docs/adding.md shows; exits with 77 where it cannot
judge.

usage: formatting.py ROOT
"""
import pathlib
import re
import shutil
import subprocess
import sys

import repository

WANTED = "14"  # other releases format differently
SKIPPED = 77


def main(root):
    tool = shutil.which(f"clang-format-{WANTED}") or shutil.which("clang-format")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True,
                             check=True).stdout if tool else ""
    if not re.search(rf"version {WANTED}\.", version):
        print(f"skipped: no clang-format {WANTED}")
        return SKIPPED
    sources = [path for path in repository.files(root) if path.suffix in (".h", ".cpp")]
    status = subprocess.run([tool, "--dry-run", "-Werror", *sources], check=False).returncode
    for code in re.findall(r"```cpp\n(// \S+\.cpp.*?)```", (root / "docs/adding.md").read_text(), re.DOTALL):
        shown = subprocess.run([tool, "--assume-filename=shown.cpp"], input=code, capture_output=True, text=True,
                               check=True, cwd=root).stdout
        if shown != code:
            print(f"docs/adding.md: {code.splitlines()[0]}: is not formatted")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
