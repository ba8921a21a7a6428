#!/usr/bin/env python3
"""How close few bits come to the float model, by method, on samples that nothing was calibrated on: rows of the table in
docs/bits.md. usage: scripts/bits_table.py MODEL.onnx CALIBRATION.h5 EVALUATION.h5 [--bits W4A8 ...] [--methods mse ...]
[OPTIONS of tare quantize]. Everything is on integers that the target runs faster there. Needs build/release."""

import argparse
import json
import resource
import subprocess
import tempfile
from pathlib import Path

TARE = Path(__file__).resolve().parent.parent / "build/release/bin/tare"
METHODS = {
    "nearest": ["weights.calibrator=max", "accuracy.rounding=nearest", "accuracy.reconstruction=none"],
    "max": ["weights.calibrator=max", "accuracy.reconstruction=none"],
    "mse": ["weights.calibrator=mse", "accuracy.reconstruction=none"],
    "reconstruction": ["accuracy.reconstruction=block"],
}


def run(*words: object) -> float:
    """CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([TARE, *map(str, words), "--quiet"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(given: argparse.Namespace, bits: str, method: str, folder: Path) -> str:
    weights, activations = bits.removeprefix("W").split("A")
    settings = ["accuracy.slowdown=0", f"weights.bits={weights}", f"activations.bits={activations}", *METHODS[method]]
    quantized, report = folder / "quantized.onnx", folder / "report.json"
    seconds = run("quantize", given.model, "--data", given.calibration, "-o", quantized,
                  *(word for setting in settings for word in ("--set", setting)), *given.options)
    run("compare", given.model, quantized, "--data", given.evaluation, "--json", report)
    found = json.loads(report.read_text())
    agreement, top1 = found["output"]["agreement"], found["top1"]
    cells = [bits, method, f"{found['output']['sqnr']:.1f} dB", f"{agreement['percent']:.1f} %" if agreement else "-",
             f"{top1['quantized']['percent']:.1f} % ({top1['float']['percent']:.1f} %)" if top1 else "-", f"{seconds:.0f} s"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "calibration", "evaluation"):
        parser.add_argument(name)
    parser.add_argument("--bits", nargs="+", default=["W8A8", "W4A8", "W4A4", "W2A4"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    given, given.options = parser.parse_known_args()
    print("| bits | method | output SQNR | same top class | top-1 (float) | CPU time |\n| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for bits in given.bits:
            for method in given.methods:
                print(row(given, bits, method, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
