#!/usr/bin/env python3
"""What mixes of widths within budgets lose, beside one width for all layers: rows of the table in docs/bits.md, on samples that
nothing was calibrated on. usage: scripts/budget_table.py MODEL.onnx CALIBRATION.h5 EVALUATION.h5 [--budgets size=80% ...]
[OPTIONS of tare search and quantize]. All are calibrated on as many samples, and packed. Needs build/release."""

import argparse
import collections
import json
import subprocess
import tempfile
from pathlib import Path
from typing import List

TARE = Path(__file__).resolve().parent.parent / "build/release/bin/tare"
CONFIGURATION = "weights: {packed: true}\nlayers:\n  - {match: {input_channels: 1..}, weights: {bits: %d}}\n"
ENDS = "  - {match: {depth: -1..0}, weights: {bits: 8}}\n"


def run(*words: object) -> str:
    return subprocess.run([TARE, *map(str, words)], check=True, capture_output=True, text=True).stdout


def row(given: argparse.Namespace, name: str, widths: str, file: Path) -> str:
    report = file.with_suffix(".json")
    run("compare", given.model, file, "--data", given.evaluation, "--json", report)
    found = json.loads(report.read_text())
    agreement, top1 = found["output"]["agreement"], found["top1"]
    cells = [name, widths, f"{file.stat().st_size / 1000:.0f} kB", f"{found['output']['sqnr']:.1f} dB",
             f"{agreement['percent']:.1f} %" if agreement else "-", f"{top1['quantized']['percent']:.1f} %" if top1 else "-"]
    return "| " + " | ".join(cells) + " |"


def mix(given: argparse.Namespace, budget: str, file: Path) -> dict:
    limits: List[str] = [word for limit in budget.split("+") for word in ("--budget", limit)]
    return json.loads(run("search", given.model, "--data", given.calibration, "-o", file, *limits, "--json", *given.options))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "calibration", "evaluation"):
        parser.add_argument(name)
    parser.add_argument("--budgets", nargs="+", default=["size=90%", "size=80%", "size=70%", "size=60%"])
    given, given.options = parser.parse_known_args()
    print("| budget | layers of 8, 4, 2 bits | file | output SQNR | same top class | top-1 |\n| --- " + "| --- " * 5 + "|")
    with tempfile.TemporaryDirectory() as folder:
        file, config = Path(folder) / "quantized.onnx", Path(folder) / "config.yaml"
        samples = 0
        for budget in given.budgets:
            found = mix(given, budget, file)
            samples = found["samples"]["calibrating"]
            counts = collections.Counter(layer["bits"] for layer in found["mix"]["layers"])
            print(row(given, budget, ", ".join(str(counts[bits]) for bits in (8, 4, 2)), file), flush=True)
        for bits, ends in ((8, ""), (4, ENDS), (4, "")):
            config.write_text(CONFIGURATION % bits + ends)
            run("quantize", given.model, "--data", given.calibration, "--samples", samples, "--config", config, "-o", file,
                *given.options)
            print(row(given, f"all {bits} bits" + (", 8 at the ends" if ends else ""), "", file), flush=True)


if __name__ == "__main__":
    main()
