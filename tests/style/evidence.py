"""Finds tests that the documentation names and that do not exist.

usage: evidence.py ROOT
"""
import fnmatch
import pathlib
import re
import sys

TEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)\s*,\s*(\w+)")
INSTANCE = re.compile(r"\bINSTANTIATE_TEST_SUITE_P\(\s*(\w+)\s*,\s*(\w+)")
EXAMPLE = "Suite.Name"
NAMED = re.compile(r"`([A-Z]\w*(?:/[A-Z]\w*)?\.[A-Z*][\w*]*)(?:/[\w*]+)*`")  # what stands for parameters is left out


def tests(root):
    """Suite.Name, and Instance/Suite.Name of those with parameters."""
    plain, instances = set(), set()
    for path in sorted((root / "tests").rglob("*.cpp")):
        text = path.read_text()
        plain.update(TEST.findall(text))
        instances.update(INSTANCE.findall(text))
    return ({f"{suite}.{name}" for suite, name in plain}
            | {f"{instance}/{suite}.{name}" for instance, suite in instances
               for other, name in plain if other == suite})


def faults(root):
    known = tests(root)
    for path in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in NAMED.findall(line):
                if name != EXAMPLE and not fnmatch.filter(known, name):
                    yield f"{path.relative_to(root)}:{number}: there is no test {name}"


def main(root):
    found = list(faults(root))
    print("\n".join(found) or "no fault")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
