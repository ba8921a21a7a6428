"""What functions return."""
from __future__ import annotations

import ctypes
import dataclasses
import html
import json
import os
import pathlib
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from ._call import Handle, Progress, Text, Work, check
from ._inputs import ConfigHandle, Model, Samples, model_handle, path_bytes
from ._library import library

EVALUATED_ON = {"given": 0, "calibration": 1, "held_out": 2}


def document(function: Any, handle: Handle) -> Any:
    """The JSON that a function of the library makes of a handle."""
    text = Text()
    check(function(handle, text.out))
    return json.loads(str(text))


def _decibels(value: Optional[float]) -> str:
    return "exact" if value is None else f"{value:.1f} dB"


class Report(Mapping[str, Any]):
    """What quantization cost, layer by layer: the fields of docs/report.md, as a dict has them.

    >>> import tare
    >>> tare.quantize("digits.onnx", "digits_calibration.h5", out="digits.int8.onnx").report["verdict"]["level"]
    'good'
    >>> report = tare.compare("digits.onnx", "digits.int8.onnx", "digits_evaluation.h5")
    >>> report["output"]["sqnr"] > 30
    True
    >>> report.save("report.html").name
    'report.html'
    """

    def __init__(self, handle: Handle):
        self._handle = handle
        self._fields: Dict[str, Any] = document(library.tare_report_json, handle)

    def __getitem__(self, key: str) -> Any:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def save(self, path: "str | os.PathLike[str]") -> pathlib.Path:
        """Writes it as .html (a page that needs no other file), .json, .csv (one row for each layer) or .overlay.json (for
        Model Explorer)."""
        check(library.tare_report_write(self._handle, path_bytes(path)))
        return pathlib.Path(path)

    def annotate(self, model: Model, path: "str | os.PathLike[str]") -> pathlib.Path:
        """Writes a copy of the quantized ONNX model that the report is about, whose nodes say what it says of their layers, as
        `metadata_props` that Netron shows.

        >>> import tare
        >>> result = tare.quantize("digits.onnx", "digits_calibration.h5")
        >>> result.report.annotate(result, "shown.onnx").name
        'shown.onnx'
        """
        check(library.tare_report_annotate(self._handle, model_handle(model), path_bytes(path)))
        return pathlib.Path(path)

    def worst_layers(self, count: int = 5) -> List[Dict[str, Any]]:
        """The layers that lose most by themselves, the worst first."""
        lossy = [layer for layer in self["layers"] if layer["local"] and layer["local"]["sqnr"] is not None]
        return sorted(lossy, key=lambda layer: float(layer["local"]["sqnr"]))[:count]

    def __repr__(self) -> str:
        return f"<tare.Report: {self['verdict']['text']}>"

    def _repr_html_(self) -> str:
        rows = [("verdict", f"{self['verdict']['level']}: {self['verdict']['text']}"),
                *((f"output {output['name']}", _decibels(output["sqnr"])) for output in self["outputs"]),
                *((f"layer {layer['name']} ({layer['op']})", f"{_decibels(layer['local']['sqnr'])} by itself")
                  for layer in self.worst_layers())]
        return table_html(rows)


def table_html(rows: List[Tuple[str, str]]) -> str:
    """A table of two columns."""
    cells = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
                    f"<td style='text-align:left'>{html.escape(value)}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>"


@dataclasses.dataclass(frozen=True)
class Point:
    """What was decided for one value: real = scale * (stored - zero_point)."""

    enabled: bool  #: False: it stays in float
    storage: str  #: "u8" and the like
    scale: List[float]  #: one, or one for each channel
    zero_point: List[int]
    axis: Optional[int]  #: of the channels; None: there is one scale
    block: int  #: neighbours along the axis that share a scale; 0: all others
    calibrator: str
    observed: List[Tuple[float, float]]  #: range of the data
    calibrated: List[Tuple[float, float]]  #: range that the calibrator chose


class Result:
    """A quantized network.

    >>> import tare
    >>> result = tare.quantize("digits.onnx", "digits_calibration.h5", threads=2)
    >>> result.summary["operators"]["on_integers"] == result.summary["operators"]["all"]
    True
    >>> result.save("digits.int8.onnx").name
    'digits.int8.onnx'
    >>> result.table["image"].storage
    'u8'
    """

    def __init__(self, handle: Handle, config: ConfigHandle, samples: Optional[Samples], evaluated_on: str,
                 threads: int, progress: Progress):
        self._handle = handle
        self._config = config
        self._samples = samples
        self._evaluated_on = evaluated_on
        self._threads = threads
        self._progress = progress
        self._report: Optional[Report] = None
        self._quality: Optional[Dict[str, Any]] = None
        #: What was quantized and what was not: `target`, `samples`, `points`, `operators`, `quantized`, `kept_float`,
        #: `accumulators` and `calibration`, as `tare quantize --json` prints them, and `quality`, where there were samples to
        #: measure it on.
        self.summary: Dict[str, Any] = document(library.tare_quantized_summary, handle)

    def save(self, path: "str | os.PathLike[str]", form: str = "qdq") -> pathlib.Path:
        """Writes the model as ONNX; `form` is "qdq", "qoperator" or "integer". The file appears whole or not at all."""
        check(library.tare_quantized_write(self._handle, path_bytes(path), form.encode()))
        return pathlib.Path(path)

    def to_bytes(self, form: str = "qdq") -> bytes:
        """The ONNX model as save() writes it.

        >>> import tare
        >>> result = tare.quantize("digits.onnx", "digits_calibration.h5")
        >>> result.to_bytes() == result.save("digits.int8.onnx").read_bytes()
        True
        """
        with tempfile.TemporaryDirectory(prefix="tare-") as folder:
            return self.save(pathlib.Path(folder) / "model.onnx", form).read_bytes()

    def to_onnx(self, form: str = "qdq") -> Any:
        """An onnx.ModelProto; needs the package onnx."""
        import onnx  # type: ignore[import]
        return onnx.load_model_from_string(self.to_bytes(form))

    def save_table(self, path: "str | os.PathLike[str]") -> pathlib.Path:
        """Writes what was decided for each point as YAML, to be looked at, changed, and given to quantize(table=...)."""
        check(library.tare_quantized_write_table(self._handle, path_bytes(path)))
        return pathlib.Path(path)

    @property
    def table(self) -> Dict[str, Point]:
        """What was decided for each point, by its name."""
        entries: Dict[str, Dict[str, Any]] = document(library.tare_quantized_table, self._handle)
        for entry in entries.values():
            for ranges in ("observed", "calibrated"):
                entry[ranges] = [tuple(pair) for pair in entry[ranges]]
        return {name: Point(**entry) for name, entry in entries.items()}

    @property
    def report(self) -> Report:
        """What quantization cost on the samples that it is evaluated on; made when it is first asked for."""
        if self._report is None:
            if self._samples is None:
                raise ValueError("there are no samples to make a report on; compare() takes some")
            self._report = self.compare(self._samples, self._evaluated_on)
        return self._report

    def compare(self, samples: Samples, evaluated_on: str = "given", brief: bool = False,
                progress: Progress = None) -> Report:
        """A report on other samples; `brief` leaves out points, metrics and accumulators, and takes few of the samples.

        >>> import tare
        >>> result = tare.quantize("digits.onnx", "digits_calibration.h5")
        >>> result.compare(tare.Samples("digits_evaluation.h5"))["data"]["evaluated_on"]
        'given'
        """
        work = Work(self._threads, 0, self._progress if progress is None else progress, self._config.failures)
        made = Handle(library.tare_report_free)
        work.run("tare_quantized_compare", self._handle, samples._handle, EVALUATED_ON[evaluated_on], int(brief),
                 ctypes.byref(work.job), made.out)
        return Report(made)

    def __repr__(self) -> str:
        operators = self.summary["operators"]
        quality = self.summary.get("quality")
        return (f"<tare.Result: {operators['on_integers']} of {operators['all']} operators on integers on "
                f"{self.summary['target']}{', ' + quality['text'] if quality else ''}>")

    def _repr_html_(self) -> str:
        summary = self.summary
        rows = [("target", str(summary["target"])),
                ("quantized", f"{summary['operators']['on_integers']} of {summary['operators']['all']} operators"),
                ("samples", f"{summary['samples']}, {summary['points']} points")]
        quality = summary.get("quality")
        if quality:
            rows[:0] = [("verdict", f"{quality['verdict']}: {quality['text']}"), ("SQNR", _decibels(quality["sqnr"]))]
        if summary["predicted_speed"]:
            fastest = summary["fastest_predicted_speed"]
            accuracy = "" if fastest < 1.005 * summary["predicted_speed"] else f", {fastest:.1f} if nothing stayed float for accuracy"
            rows.append(("predicted", f"{summary['predicted_speed']:.1f} times as fast as float{accuracy}"))
        rows += [(f"float: {entry['op']} {entry['node']}", entry["reason"]) for entry in summary["kept_float"][:5]]
        return table_html(rows)


class Statistics:
    """What samples showed of every value, from which parameters can be chosen again; see calibrate() and merge()."""

    def __init__(self, handle: Handle):
        self._handle = handle

    @property
    def samples(self) -> int:
        """How many samples they are of."""
        return int(library.tare_statistics_samples(self._handle))

    def save(self, path: "str | os.PathLike[str]") -> pathlib.Path:
        """Writes them as HDF5, for `stats` of quantize() and `--stats` of the program."""
        check(library.tare_statistics_write(self._handle, path_bytes(path)))
        return pathlib.Path(path)

    def __repr__(self) -> str:
        return f"<tare.Statistics of {self.samples} samples>"


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """How often a model is right."""

    correct: int
    samples: int

    @property
    def value(self) -> float:
        """The share of the samples, from 0 to 1."""
        return self.correct / self.samples if self.samples else 0.0

    @property
    def interval95(self) -> Tuple[float, float]:
        """Where the true share lies with 95 % confidence (the interval of Wilson, 1927).

        >>> import tare
        >>> ["%.3f" % end for end in tare.Accuracy(9, 10).interval95]
        ['0.596', '0.982']
        """
        if not self.samples:
            return 0.0, 1.0
        z = 1.959963984540054
        n, p = float(self.samples), self.value
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * ((p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5)
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclasses.dataclass(frozen=True)
class Found:
    """What search() found."""

    result: Result  #: the network of the chosen plan
    met: bool  #: whether it meets all requirements
    #: The plans of the Pareto front, the fastest first: `nanoseconds`, `integer_share`, `expected_error`, `keep_float`, `sqnr`
    #: where it was tried, and `failures`, the requirements that it does not meet.
    curve: List[Dict[str, Any]]
    chosen: int  #: index of the plan in `curve`
    end: str  #: "done", or "deadline" where the time was up before
    trials: int  #: plans that were tried
    #: With a budget: `bytes` and `bit_operations` with their limit, what is taken, and what the widest and the least widths
    #: take; `layers` with their `nodes`, `bits` and the `error` that they cause alone. `curve` then has one entry.
    mix: Optional[Dict[str, Any]] = None
