"""Tare calibrates float neural networks on samples and rewrites them to int8.

    import tare
    result = tare.quantize("model.onnx", {"input": images}, out="model.int8.onnx")

The work is done by libtare.so, which the program `tare` is made of too: both give the same files. docs/python.md is the guide.
"""
from ._errors import (ConfigError, DataError, Error, FileError, InternalError, ModelError, OutOfMemoryError, TareWarning,
                      UnsupportedError)
from ._functions import calibrate, compare, describe, evaluate, explain, inspect, merge, quantize, run, search
from ._inputs import Samples
from ._library import library as _library
from .calibrators import Calibrator, Histogram, Spec
from .config import (Accumulator, Accuracy as AccuracyOptions, Activations, Calibration, Config, Input, Layer, Match, Requantize,
                     Weights)
from .results import Accuracy, Found, Point, Report, Result, Statistics

__version__: str = _library.tare_version().decode()

__all__ = [
    "Accumulator", "Accuracy", "AccuracyOptions", "Activations", "Calibration", "Calibrator", "Config", "ConfigError",
    "DataError", "Error", "FileError", "Found", "Histogram", "Input", "InternalError", "Layer", "Match", "ModelError",
    "OutOfMemoryError", "Point", "Report", "Requantize", "Result", "Samples", "Spec", "Statistics", "TareWarning",
    "UnsupportedError", "Weights", "calibrate", "compare", "describe", "evaluate", "explain", "inspect", "merge", "quantize",
    "run", "search",
]
