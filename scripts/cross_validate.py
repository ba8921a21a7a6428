"""Mean accuracy of quantized files over several calibrations, each evaluated on the samples that it was not calibrated on.

usage: cross_validate.py FOLDS SAMPLES MODEL.onnx DATA.h5 [DATA.h5 ...] -- [OPTIONS ...]
All samples of the files are put together and shuffled; FOLDS times another SAMPLES of them calibrate, and the rest are
run in ONNX Runtime. OPTIONS are those of `tare quantize` for one file, as one word, as for compare_accuracy.sh, which
this calls. One split alone tells little: single samples may decide, and two files may come from different sources.
Needs h5py and what compare_accuracy.sh needs.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import h5py
import numpy


def write(path, files, samples):
    with h5py.File(path, "w") as out:
        for name, first in files[0].items():
            out[name] = numpy.concatenate([file[name][...] for file in files])[samples]
            out[name].attrs.update(first.attrs)


def decibels(model, calibration, evaluation, options):
    script = pathlib.Path(__file__).with_name("compare_accuracy.sh")
    text = subprocess.run([script, model, calibration, evaluation, *options], check=True, capture_output=True,
                          text=True).stdout
    return [float(number) for number in re.findall(r"([-0-9.]+) dB", text)]


def main(folds, size, model, *rest):
    split = rest.index("--")
    files = [h5py.File(path) for path in rest[:split]]
    options = rest[split + 1:] or ("",)
    count = sum(len(next(iter(file.values()))) for file in files)
    if int(folds) * int(size) > count or int(size) == count:
        sys.exit(f"{folds} times other {size} samples, and some left to evaluate on: there are {count}")
    order = numpy.random.RandomState(1).permutation(count)
    results = []
    with tempfile.TemporaryDirectory() as work:
        calibration, evaluation = f"{work}/calibration.h5", f"{work}/evaluation.h5"
        for fold in range(int(folds)):
            chosen = order[fold * int(size):(fold + 1) * int(size)]
            write(calibration, files, numpy.sort(chosen))
            write(evaluation, files, numpy.setdiff1d(order, chosen))
            results.append(decibels(model, calibration, evaluation, options))
    print(f"{pathlib.Path(model).name}: output SQNR over {folds} calibrations of {size} of {count} samples")
    for name, numbers in zip(options, zip(*results)):
        print(f"{name or '(defaults)':<44} {numpy.mean(numbers):6.2f} dB  {'  '.join(f'{n:.2f}' for n in numbers)}")


if __name__ == "__main__":
    if len(sys.argv) < 6 or "--" not in sys.argv:
        sys.exit(__doc__)
    main(*sys.argv[1:])
