"""Finds links of Markdown pages that lead nowhere, names of pages in sources that are none, and
pages of docs/ that its index does not list.

A link leads to a file or folder of the project, and an anchor to a heading of that page, by the
name that GitHub gives it.

usage: links.py ROOT
"""
import pathlib
import re

import checks
import repository

LINK = re.compile(r"\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)")
HEADING = re.compile(r"#{1,6} +(.+?)\s*$")
NAMED = re.compile(r"(?<![\w/])docs/[a-z0-9_/-]+\.md\b")
SOURCES = (".h", ".cpp", ".cmake", ".sh")
INDEX = pathlib.Path("docs/README.md")


def prose(path):
    """The lines outside of fenced blocks, with their numbers."""
    fenced = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchor(heading):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    found = {}
    for _, line in prose(path):
        heading = HEADING.match(line)
        if heading:
            name = anchor(heading[1])
            found[name] = found.get(name, -1) + 1
    return {name if i == 0 else f"{name}-{i}"
            for name, last in found.items() for i in range(last + 1)}


def links(path):
    for number, line in prose(path):
        for link in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            if not re.match(r"[a-z]+:", link[1]):
                yield number, link[1]


def faults_of_sources(root, paths):
    for path in paths:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for name in NAMED.findall(line):
                if not (root / name).exists():
                    yield f"{path.relative_to(root)}:{number}: there is no '{name}'"


def faults(root):
    paths = repository.files(root)
    pages = [path for path in paths if path.suffix == ".md"]
    yield from faults_of_sources(root, [path for path in paths if path.suffix in SOURCES])
    listed = {root / INDEX}
    for page in pages:
        for number, link in links(page):
            target, _, wanted = link.partition("#")
            path = (page.parent / target).resolve() if target else page
            where = f"{page.relative_to(root)}:{number}"
            if not path.exists() or not path.is_relative_to(root):
                yield f"{where}: there is no '{target}'"
            elif wanted and (path.suffix != ".md" or wanted not in anchors(path)):
                yield f"{where}: '{target or page.name}' has no heading '#{wanted}'"
            elif page == root / INDEX:
                listed.add(path)
    for page in pages:
        if page.is_relative_to(root / INDEX.parent) and page not in listed:
            yield f"{INDEX}: does not list {page.relative_to(root)}"


if __name__ == "__main__":
    checks.run(faults)
