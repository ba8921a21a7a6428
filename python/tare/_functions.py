"""The functions that do the work of the program's verbs."""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from . import _arrays, _errors, _library
from ._call import Failures, Handle, Progress, Text, Work, check
from ._inputs import (ConfigHandle, Configuration, Data, Model, Samples, Settings, model_handle, path_bytes,
                      samples_of)
from ._library import library
from .results import Accuracy, Found, Report, Result, Statistics

_Path = Union[str, "os.PathLike[str]"]
#: A number for one sample, from the results of the float and the quantized network (lists of arrays, each as in a batch of
#: one) and the label or None; None where it is not defined.
Metric = Callable[[List[Any], List[Any], Optional[int]], Optional[float]]


def _overrides(target: Optional[str], effort: Optional[str]) -> Dict[str, Optional[str]]:
    return {"target": target, "accuracy.effort": effort}


def _agreement(part: Optional[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    return None if part is None else {key: part[key] for key in ("count", "of", "percent")}


def _quality(report: Report) -> Dict[str, Any]:
    """What the program says of quality, of a brief report."""
    output = report["output"] or {}
    worst = report.worst_layers(1)
    return {"verdict": report["verdict"]["level"], "text": report["verdict"]["text"], "samples": report["data"]["samples"],
            "evaluated_on": report["data"]["evaluated_on"], "sqnr": output.get("sqnr"), "exact": output.get("exact", False),
            "agreement": _agreement(output.get("agreement")),
            "worst_layer": {"node": worst[0]["name"], "op": worst[0]["op"], "sqnr": worst[0]["local"]["sqnr"]} if worst else None,
            "outputs": [{"name": entry["name"], "sqnr": entry["sqnr"], "exact": entry["exact"],
                         "agreement": _agreement(entry["agreement"])} for entry in report["outputs"]]}


def _statistics(stats: Union[Statistics, _Path]) -> Statistics:
    if isinstance(stats, Statistics):
        return stats
    made = Handle(library.tare_statistics_free)
    check(library.tare_statistics_read(path_bytes(stats), made.out))
    return Statistics(made)


def _split(samples: Samples, limit: int, holdout: int, given: Optional[Samples]) -> Tuple[Samples, Optional[Samples], str]:
    """The samples to calibrate on, those to evaluate on, and what these are."""
    used = samples.first(min(limit, len(samples))) if limit else samples
    if holdout:
        if given is not None:
            raise _errors.ConfigError("holdout contradicts eval_data\n"
                                      "  hint: holdout takes its samples out of data, eval_data are others")
        if holdout >= len(used):
            raise _errors.ConfigError(f"holdout leaves nothing to calibrate on: there are {len(used)} samples")
        return used.without_evenly_spaced(holdout), used.evenly_spaced(holdout), "held_out"
    return used, given or used, "calibration" if given is None else "given"


def quantize(model: Model, data: Data = None, config: Configuration = None, *, target: Optional[str] = None,
             effort: Optional[str] = None, out: Optional[_Path] = None, form: str = "qdq", stats: Any = None,
             table: Optional[_Path] = None, eval_data: Data = None, holdout: int = 0, samples: int = 0,
             settings: Settings = None, metrics: Optional[Mapping[str, Metric]] = None, evaluate: bool = True,
             threads: int = 0, progress: Progress = None) -> Result:
    """Quantizes a float model to int8: the same file, byte for byte, that `tare quantize` writes.

    model: path (.onnx, .tflite), bytes of an ONNX model, or an onnx.ModelProto.
    data: samples to calibrate on, in any shape that `tare.Samples` describes; arrays are [samples, ...shape of one].
    config: a tare.Config, a dict of its keys, or the path of a YAML file.
    target: "ort-cpu" (the default), "openvino", "tensorrt", "qnn", or the path of a target file; over that of `config`.
    effort: "fast", "default" or "best", over that of `config`.
    out, form: where to write the model, as Result.save() does.
    stats, table: statistics of calibrate(), or a table of Result.save_table(), in place of data.
    eval_data, holdout: evaluate on these samples, or on so many of `data`, evenly spaced, that are not calibrated on.
    samples: use the first ones only; 0: all.
    settings: keys on top, such as {"activations.calibrator": "percentile"}.
    metrics: numbers for reports, by name, each a function of (real, quantized, label).
    evaluate: measure on some samples how good the result is, for `summary["quality"]`.
    threads: 0: one per core; the result does not depend on it.
    progress: None: a bar if somebody looks; True, False, or a function of (activity, done, total).

    >>> import tare
    >>> result = tare.quantize("digits.onnx", "digits_calibration.h5", out="digits.int8.onnx")
    >>> result.summary["quality"]["verdict"]
    'good'

    From arrays, one for each input:

    >>> import numpy
    >>> images = numpy.random.default_rng(0).random((64, 1, 16, 16), "float32")
    >>> tare.quantize("digits.onnx", {"image": images}, effort="fast").summary["samples"]
    64
    """
    failures = Failures()
    handle = model_handle(model)
    settled = ConfigHandle(config, settings, failures, _overrides(target, effort), metrics)
    given = None if eval_data is None else samples_of(eval_data, handle, settled)
    work = Work(threads, 0, progress, failures)
    made = Handle(library.tare_quantized_free, settled)
    evaluated, kind = given, "given"
    if data is not None:
        calibrating, evaluated, kind = _split(samples_of(data, handle, settled), samples, holdout, given)
        work.run("tare_quantize", handle, calibrating._handle, settled, ctypes.byref(work.job), made.out)
    elif stats is not None:
        work.run("tare_quantize_statistics", handle, _statistics(stats)._handle, settled, ctypes.byref(work.job),
                 made.out)
    elif table is not None:
        work.run("tare_quantize_table", handle, path_bytes(table), settled, ctypes.byref(work.job), made.out)
    else:
        work.run("tare_quantize", handle, None, settled, ctypes.byref(work.job), made.out)
    result = Result(made, settled, evaluated, kind, threads, progress)
    if out is not None:
        result.save(out, form)
    if evaluate and evaluated is not None:
        result.summary["quality"] = _quality(result.compare(evaluated, kind, True, progress))
    return result


def calibrate(model: Model, data: Data, config: Configuration = None, *, target: Optional[str] = None,
              out: Optional[_Path] = None, checkpoint: Optional[_Path] = None, samples: int = 0,
              settings: Settings = None, threads: int = 0, progress: Progress = None) -> Statistics:
    """Collects what samples show of every value, to choose parameters from later, with any calibrator.

    `checkpoint` is a file from which the same call goes on if it was interrupted; it is removed in the end.

    >>> import tare
    >>> stats = tare.calibrate("digits.onnx", "digits_calibration.h5", samples=32)
    >>> stats
    <tare.Statistics of 32 samples>
    >>> tare.quantize("digits.onnx", stats=stats).summary["samples"]
    32
    """
    failures = Failures()
    handle = model_handle(model)
    settled = ConfigHandle(config, settings, failures, _overrides(target, None))
    work = Work(threads, samples, progress, failures)
    made = Handle(library.tare_statistics_free)
    work.run("tare_statistics_collect", handle, samples_of(data, handle, settled)._handle, settled,
             None if checkpoint is None else path_bytes(checkpoint), ctypes.byref(work.job), made.out)
    statistics = Statistics(made)
    if out is not None:
        statistics.save(out)
    return statistics


def merge(*parts: Union[Statistics, _Path], out: Optional[_Path] = None) -> Statistics:
    """Adds up statistics of several parts of the samples; none of them changes.

    >>> import tare
    >>> with_first = tare.Samples("digits_calibration.h5").first(16)
    >>> part = tare.calibrate("digits.onnx", with_first)
    >>> tare.merge(part, part).samples
    32
    """
    if not parts:
        raise _errors.ConfigError("merge: there are no statistics")
    made = Handle(library.tare_statistics_free)
    # A copy of the first, by a file, which is how the library copies them.
    with tempfile.TemporaryDirectory(prefix="tare-") as folder:
        first = _statistics(parts[0]).save(pathlib.Path(folder) / "first.h5")
        check(library.tare_statistics_read(path_bytes(first), made.out))
    total = Statistics(made)
    for part in parts[1:]:
        check(library.tare_statistics_merge(_statistics(part)._handle, total._handle))
    if out is not None:
        total.save(out)
    return total


def compare(real: Model, quantized: Model, data: Data, config: Configuration = None, *, numerics: Optional[str] = None,
            target: Optional[str] = None, samples: int = 0, settings: Settings = None,
            metrics: Optional[Mapping[str, Metric]] = None, threads: int = 0, progress: Progress = None) -> Report:
    """Measures the error of a quantized model, ours or another tool's, against the float one, layer by layer.

    `numerics` is the engine whose arithmetic the quantized model runs with: None for ONNX Runtime's, "configured" for what its
    file says, or a name of `tare.describe()["numerics"]`.

    >>> import tare
    >>> result = tare.quantize("digits.onnx", "digits_calibration.h5", out="digits.int8.onnx")
    >>> def largest(real, quantized, label):
    ...     return float(abs(real[0] - quantized[0]).max())
    >>> report = tare.compare("digits.onnx", "digits.int8.onnx", "digits_evaluation.h5", metrics={"largest": largest})
    >>> 0 < report["metrics"]["largest"] < 5
    True
    """
    failures = Failures()
    handle, other = model_handle(real), model_handle(quantized)
    settled = ConfigHandle(config, settings, failures, _overrides(target, None), metrics)
    work = Work(threads, samples, progress, failures)
    made = Handle(library.tare_report_free)
    work.run("tare_compare", handle, other, samples_of(data, handle, settled)._handle, settled, _word(numerics),
             ctypes.byref(work.job), made.out)
    return Report(made)


def _word(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else text.encode()


def _run(model: Model, data: Data, config: Configuration, settings: Settings, numerics: Optional[str], samples: int,
         threads: int, progress: Progress, take: Callable[[Dict[str, Any]], None]) -> Samples:
    """Gives `take` the results, run by run, as arrays that are gone after it."""
    failures = Failures()
    handle = model_handle(model)
    settled = ConfigHandle(config, settings, failures, {})
    given = samples_of(data, handle, settled)
    work = Work(threads, samples, progress, failures)

    def taken(_context: Any, _run_index: int, outputs: Any, count: int) -> int:
        take(_arrays.views(outputs, count))
        return 0

    work.run("tare_run", handle, given._handle, settled, _word(numerics), ctypes.byref(work.job),
             _library.TAKE(failures.guard(taken, 1)), None)
    return given


def run(model: Model, data: Data, config: Configuration = None, *, numerics: Optional[str] = None, samples: int = 0,
        settings: Settings = None, threads: int = 0, progress: Progress = None) -> Dict[str, Any]:
    """Runs a float or quantized model: output name -> [samples, ...shape of one]; where results differ in shape, a list with
    that of each sample, as a batch of one.

    >>> import tare
    >>> tare.run("digits.onnx", "digits_evaluation.h5", samples=5)["logits"].shape
    (5, 10)
    """
    found: Dict[str, List[Any]] = {}

    def take(outputs: Dict[str, Any]) -> None:
        for name, array in outputs.items():
            found.setdefault(name, []).append(numpy.array(array, ndmin=1))

    _run(model, data, config, settings, numerics, samples, threads, progress, take)
    return {name: numpy.concatenate(arrays) if len({array.shape for array in arrays}) == 1 else arrays
            for name, arrays in found.items()}


def evaluate(model: Model, data: Data, config: Configuration = None, *, metric: str = "top1", numerics: Optional[str] = None,
             samples: int = 0, settings: Settings = None, threads: int = 0, progress: Progress = None) -> Accuracy:
    """The accuracy of a float or quantized model on samples with labels.

    >>> import tare
    >>> tare.evaluate("digits.onnx", "digits_evaluation.h5").value > 0.9
    True
    """
    if metric != "top1":
        raise _errors.ConfigError(f"metric '{metric}', expected top1")
    handle = model_handle(model)
    given = samples_of(data, handle, ConfigHandle(config, settings, Failures(), {}))
    labels = given.labels
    if labels is None:
        raise _errors.DataError("samples: hold no labels, expected 'labels' with one integer per sample")
    predictions: List[Any] = []

    def take(outputs: Dict[str, Any]) -> None:
        scores = next(iter(outputs.values()))
        predictions.extend(scores.reshape(-1, scores.shape[-1] if scores.ndim else 1).argmax(axis=1))

    _run(model, given, config, settings, numerics, samples, threads, progress, take)
    used = labels[:len(predictions)]
    if len(used) != len(predictions):
        raise _errors.ModelError("the first output has several rows of scores for a sample, expected one")
    return Accuracy(int((numpy.asarray(predictions) == used).sum()), len(used))


def _texts(given: Union[str, Sequence[str]]) -> "ctypes.Array[ctypes.c_char_p]":
    texts = [given] if isinstance(given, str) else list(given)
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def search(model: Model, data: Data, require: Union[str, Sequence[str]] = (), config: Configuration = None, *,
           budget: Union[str, Sequence[str]] = (), target: Optional[str] = None, effort: Optional[str] = None,
           keep_int8: float = 0.0, time: float = 0.0, holdout: Optional[int] = None, checkpoint: Optional[_Path] = None,
           out: Optional[_Path] = None, samples: int = 0, settings: Settings = None,
           metrics: Optional[Mapping[str, Metric]] = None, threads: int = 0, progress: Progress = None) -> Found:
    """Finds the fastest mixed-precision model that meets requirements, such as 'output.sqnr>=30' or 'top1.drop<=0.5'; or
    within a budget, such as 'size=0.5MB', 'size=60%' or 'bops=1.5G', the widths of weights that lose least.

    budget: of the file or of bit operations, or both; goes with neither `keep_int8` nor `time`.
    keep_int8: share of the multiplications that stays on integers.
    time: seconds after which no other plan is tried; 0: no limit.
    holdout: samples at the end that are evaluated on and not calibrated on; None: a third.
    checkpoint: a file from which the same call goes on if it was interrupted.

    >>> import tare
    >>> found = tare.search("digits.onnx", "digits_calibration.h5", "output.sqnr>=25")
    >>> found.met
    True
    >>> mix = tare.search("digits.onnx", "digits_calibration.h5", budget="size=80%", samples=24).mix
    >>> mix["bytes"]["taken"] <= mix["bytes"]["limit"]
    True
    """
    failures = Failures()
    handle = model_handle(model)
    settled = ConfigHandle(config, settings, failures, _overrides(target, effort), metrics)
    given = samples_of(data, handle, settled)
    conditions, budgets = _texts(require), _texts(budget)
    options = _library.SearchOptions(ctypes.sizeof(_library.SearchOptions), conditions, len(conditions), keep_int8, time,
                                     -1 if holdout is None else holdout,
                                     None if checkpoint is None else path_bytes(checkpoint), budgets, len(budgets))
    work = Work(threads, samples, progress, failures)
    made, text = Handle(library.tare_quantized_free, settled), Text()
    work.run("tare_search", handle, given._handle, settled, ctypes.byref(options), ctypes.byref(work.job),
             made.out, text.out)
    fields = json.loads(str(text))
    result = Result(made, settled, given, "given", threads, progress)
    if out is not None:
        result.save(out)
    return Found(result, fields["met"], fields["curve"], fields["chosen"], fields["end"], fields["trials"],
                 fields.get("mix"))


def explain(model: Model, config: Configuration = None, *, data: Data = None, target: Optional[str] = None,
            settings: Settings = None) -> Dict[str, Any]:
    """Which kernel of the target runs each operator, or why it stays in float: `count`, `operators`, and of a quantized model
    `findings`, where it is not what the target wants.

    >>> import tare
    >>> tare.explain("digits.onnx", target="tensorrt")["operators"][0]["op"]
    'Conv'
    """
    handle = model_handle(model)
    settled = ConfigHandle(config, settings, Failures(), _overrides(target, None))
    text = Text()
    given = None if data is None else samples_of(data, handle, settled)
    Work().run("tare_explain", handle, given._handle if given else None, settled, text.out)
    fields: Dict[str, Any] = json.loads(str(text))
    return fields


def inspect(model: Model, stage: str = "float", data: Data = None, config: Configuration = None, *,
            target: Optional[str] = None, full: bool = False, settings: Settings = None, threads: int = 0,
            progress: Progress = None) -> str:
    """A model as text, as it is after a stage: "float", "prepared", "simulated", "affine", "expanded", "integer" or "exported".

    `full` prints all elements of constants; the text can then be read as a model (.tir).

    >>> import tare
    >>> "Conv" in tare.inspect("digits.onnx", "prepared")
    True
    """
    failures = Failures()
    handle = model_handle(model)
    settled = ConfigHandle(config, settings, failures, _overrides(target, None))
    given = None if data is None else samples_of(data, handle, settled)
    work = Work(threads, 0, progress, failures)
    text = Text()
    work.run("tare_inspect", handle, given._handle if given else None, settled, stage.encode(), int(full),
             ctypes.byref(work.job), text.out)
    return str(text)


def describe() -> Dict[str, Any]:
    """What there is: `version`, `targets`, `calibrators`, `metrics`, `numerics`, `config` (its keys) and `libraries`.

    >>> import tare
    >>> "mse" in [calibrator["name"] for calibrator in tare.describe()["calibrators"]]
    True
    """
    text = Text()
    check(library.tare_describe(text.out))
    fields: Dict[str, Any] = json.loads(str(text))
    return fields
