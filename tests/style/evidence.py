"""Finds tests that the documentation names and that do not exist, and what docs/architecture.md names and nobody else does.

usage: evidence.py ROOT
"""
import fnmatch
import re

import checks

TEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)\s*,\s*(\w+)")
INSTANCE = re.compile(r"\bINSTANTIATE_TEST_SUITE_P\(\s*(\w+)\s*,\s*(\w+)")
EXAMPLE = "Suite.Name"
NAMED = re.compile(r"`([A-Z]\w*(?:/[A-Z]\w*)?\.[A-Z*][\w*]*)(?:/[\w*]+)*`")  # what stands for parameters is left out


ADDED = re.compile(r"\badd_test\(NAME (\w+\.\w+)")
STYLE = re.compile(r"\btare_add_style_test\((\w+)")


def tests(root):
    """Suite.Name, and Instance/Suite.Name of those with parameters."""
    plain, instances = set(), set()
    for path in sorted((root / "tests").rglob("*.cpp")):
        text = path.read_text()
        plain.update(TEST.findall(text))
        instances.update(INSTANCE.findall(text))
    lists = "".join(path.read_text() for path in sorted((root / "tests").rglob("CMakeLists.txt")))
    return (set(ADDED.findall(lists)) | {f"Style.{name}" for name in STYLE.findall(lists)}
            | {f"{suite}.{name}" for suite, name in plain}
            | {f"{instance}/{suite}.{name}" for instance, suite in instances
               for other, name in plain if other == suite})


def sources(root, *folders):
    return [path for folder in folders for path in sorted((root / folder).rglob("*"))
            if path.suffix in (".h", ".cpp", ".py")]


def architecture_faults(root):
    """Names in code style are those of files, folders or something in them; the calls in the first fenced block are those that
    the pipeline makes."""
    page = "docs/architecture.md"
    text = (root / page).read_text()
    paths = sources(root, "src", "include", "apps", "tests")
    known = {part for path in paths for part in path.relative_to(root).parts}
    for path in paths:
        known.update(re.findall(r"\w+", path.read_text()))
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for code in re.findall(r"`([^`\n]+)`", prose):
        for name in re.findall(r"[A-Za-z_]\w*(?:\.\w+)?", code):
            if name not in known and name.split(".")[0] not in known:
                yield f"{page}: there is no {name}"
    pipeline = "".join(path.read_text() for path in sources(root, "src/pipeline"))
    for call in re.findall(r"(\w+)\(", text.split("```")[1]):
        if not re.search(rf"\b{call}\b", pipeline):
            yield f"{page}: src/pipeline does not call {call}"


def faults(root):
    yield from architecture_faults(root)
    known = tests(root)
    for path in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in NAMED.findall(line):
                if name != EXAMPLE and not fnmatch.filter(known, name):
                    yield f"{path.relative_to(root)}:{number}: there is no test {name}"


if __name__ == "__main__":
    checks.run(faults)
