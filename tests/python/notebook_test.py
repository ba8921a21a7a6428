"""The notebook of the documentation: run again it shows what it shows, but for digits, and so does its page. Skipped, 77, without
nbconvert and ipykernel."""
import html
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import support

DOCS = support.ROOT / "docs"


def shown(notebook):
    """The texts under each cell of code, without numbers, which differ between processors."""
    cells = json.loads(notebook.read_text())["cells"]
    texts = []
    for cell in cells:
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error", output
            text = output.get("text") or output["data"].get("text/html") or output["data"]["text/plain"]
            texts.append(re.sub(r"\d+", "#", "".join(text)))
    return texts


def main():
    if not all(importlib.util.find_spec(name) for name in ("nbconvert", "ipykernel")):
        sys.exit(77)
    stored = DOCS / "notebook.ipynb"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        shutil.copytree(support.ROOT / "data", root / "data")
        (root / "docs").mkdir()
        shutil.copy(stored, root / "docs")
        again = root / "docs/again.ipynb"
        subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", again.name, "notebook.ipynb"],
                       cwd=root / "docs", check=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
        assert shown(again) == shown(stored), (shown(again), shown(stored))
        assert (root / "docs/digits.int8.onnx").exists() and (root / "docs/digits.html").exists()
    page = (DOCS / "notebook.html").read_text()
    for cell in json.loads(stored.read_text())["cells"]:
        for output in cell.get("outputs", []):
            for text in output.get("text", []):
                assert html.escape(text.strip("\n"), quote=False) in page, text


if __name__ == "__main__":
    main()
