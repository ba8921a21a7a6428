"""Every kind of finding has a heading in the report and a row in its documentation, and these have no other kinds.

usage: finding_kinds.py ROOT
"""
import re

import checks


def of_source(root):
    found = set()
    for path in (root / "src/report").glob("*.cpp"):
        text = path.read_text()
        for value in re.findall(r"\.kind\s*=\s*([^,;]*)[,;]", text):
            found.update(re.findall(r'"(\w+)"', value))
        found.update(re.findall(r'kKind\w*\s*=\s*"(\w+)"', text))
        found.update(re.findall(r'keep_float\(\s*"(\w+)"', text))
    return found


def of_page(root):
    text = (root / "src/report/page/diagnosis.js").read_text()
    return set(re.findall(r"^  (\w+): ", text[text.index("const kKinds"):text.index("};")], re.MULTILINE))


def of_documentation(root):
    text = (root / "docs/report.md").read_text()
    table = text[text.index("| kind | found where |"):]
    first_cells = [line.split("|")[1] for line in table[:table.index("\n\n")].splitlines()]
    return {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}


def faults(root):
    source = of_source(root)
    for place, kinds in (("src/report/page/diagnosis.js", of_page(root)), ("docs/report.md", of_documentation(root))):
        for kind in sorted(source - kinds):
            yield f"{place}: lacks the kind '{kind}'"
        for kind in sorted(kinds - source):
            yield f"{place}: has the kind '{kind}', which nothing finds"


if __name__ == "__main__":
    checks.run(faults)
