"""Finds types of the public headers that docs/glossary.md does not name.

A type is named where a row has it in backticks, alone or with a member: `PointResult::observed`.

usage: glossary.py ROOT
"""
import re

import checks

TYPE = re.compile(r"^(?:struct|class|enum class)\s+(\w+)(?!\w|\s*<)[^;{]*\{|^using\s+(\w+)\s+=", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


def types(header):
    """Those at the scope of the namespace, which is not indented; forward declarations are none."""
    return [match[1] or match[2] for match in TYPE.finditer(header)]


def named(glossary):
    rows = [line for line in glossary.splitlines() if line.startswith("|")]
    return {word for row in rows for code in CODE.findall(row) for word in re.findall(r"\w+", code)}


def faults(root):
    known = named((root / "docs/glossary.md").read_text())
    for header in sorted((root / "include/tare").glob("*.h")):
        for name in types(header.read_text()):
            if name not in known:
                yield f"docs/glossary.md: does not name '{name}' of {header.name}"


if __name__ == "__main__":
    checks.run(faults)
