#!/usr/bin/env python3
"""Says which files two builds of tare write differently: a change that should change no result must change no byte.

Both quantize each network from samples and from statistics, explain it and compare it, with tables, statistics,
reports and JSON. Exits with 1 where any file differs.

usage: scripts/compare_outputs.py BEFORE AFTER [--samples N] [--keep FOLDER] [PLACE...]

BEFORE and AFTER are programs. The networks are those of data/ and of each PLACE: a folder, where samples have the name
of the model in front of theirs (net.onnx, net_calibration.h5 and perhaps net_evaluation.h5), or a list, with lines of
MODEL SAMPLES [EVALUATION] relative to its folder. --samples N uses the first N ones only; --keep leaves the files in
FOLDER/before and FOLDER/after.
"""
import argparse
import hashlib
import pathlib
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


def pairs_of_folder(folder):
    for model in sorted([*folder.glob("*.onnx"), *folder.glob("*.tflite")]):
        samples = sorted(folder.glob(f"{model.stem}*.h5"))
        evaluation = [path for path in samples if "eval" in path.name]
        calibration = [path for path in samples if path not in evaluation] or evaluation
        if calibration:
            yield model, calibration[0], (evaluation or calibration)[0]


def pairs_of_list(file):
    for line in file.read_text().splitlines():
        if words := line.split():
            model, calibration, *evaluation = [file.parent / word for word in words]
            yield model, calibration, (evaluation or [calibration])[0]


def commands(model, calibration, evaluation, samples):
    """What is run, and the file that gets its standard output; that of quantize says how long it took."""
    only = ["--samples", samples] if samples else []
    made = ["quantize", model, "--data", calibration, *only]
    yield [*made, "-o", "int8.onnx", "--table", "table.yaml", "--report", "report.html",
           "--report", "report.json", "--report", "report.csv"], None
    yield [*made, "-o", "int8_of_statistics.onnx", "--stats", "statistics.h5",
           "--table", "table_of_statistics.yaml"], None
    for name in (model, "int8.onnx"):
        yield ["explain", name, "--data", calibration, "--json"], f"explain_{pathlib.Path(name).name}.json"
    yield ["compare", model, "int8.onnx", "--data", evaluation, *only, "--json", "-"], "compare.json"


def write_outputs(program, pairs, samples, folder):
    for number, (model, calibration, evaluation) in enumerate(pairs):
        place = folder / f"{number}_{model.stem}"
        place.mkdir(parents=True)
        said = []
        for words, output in commands(model, calibration, evaluation, samples):
            ran = subprocess.run([program, *words, "--quiet"], cwd=place, capture_output=True, check=False)
            said.append(b"%d\n%s" % (ran.returncode, ran.stderr))
            if ran.returncode:
                print(f"{folder.name}: {words[0]} of {model.name} ends with status {ran.returncode}", file=sys.stderr)
            if output:
                (place / output).write_bytes(ran.stdout)
        (place / "statuses_and_warnings.txt").write_bytes(b"".join(said))


def digests(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--samples")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("places", nargs="*", type=pathlib.Path)
    given = parser.parse_intermixed_args()
    pairs = [pair for place in (DATA, *(path.resolve() for path in given.places))
             for pair in (pairs_of_folder if place.is_dir() else pairs_of_list)(place)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or pathlib.Path(temporary)).resolve()
        found = []
        for name, program in (("before", given.before), ("after", given.after)):
            write_outputs(program.resolve(), pairs, given.samples, folder / name)
            found.append(digests(folder / name))
    before, after = found
    names = sorted(before.keys() | after.keys())
    differing = [name for name in names if before.get(name) != after.get(name)]
    for name in differing:
        print(name if name in before and name in after else f"{name} (only {'before' if name in before else 'after'})")
    print(f"{len(names)} files of {len(pairs)} networks, {len(differing)} differ")
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
