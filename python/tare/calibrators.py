"""What a calibrator in Python is told, and how it is called."""
from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, Tuple

import numpy

from . import _arrays, _library
from ._call import Failures


@dataclasses.dataclass(frozen=True)
class Histogram:
    """What the samples showed of one value, or of one channel of weights.

    >>> import numpy, tare
    >>> seen = tare.Histogram(low=-1.0, high=3.0, mean_low=-0.5, mean_high=2.0, count=10, zeros=4, samples=2,
    ...                       bins=numpy.array([0, 1, 3, 2]), bin_width=1.5)
    >>> [float(edge) for edge in seen.edges]
    [-3.0, -1.5, 0.0, 1.5, 3.0]
    """

    low: float  #: the smallest finite value; 0 when there was none
    high: float  #: the largest
    mean_low: float  #: mean over the samples of the smallest value of each
    mean_high: float  #: the same of the largest
    count: int  #: finite values
    zeros: int  #: how many of these are 0
    samples: int
    #: [bins], int: how many values other than 0 lie between an edge and the next; empty where there are none
    bins: "numpy.ndarray[Any, Any]"
    bin_width: float

    @property
    def edges(self) -> "numpy.ndarray[Any, Any]":
        """[bins + 1], float: where bins begin and end; the middle one is 0."""
        count = len(self.bins)
        return (numpy.arange(count + 1) - count // 2) * self.bin_width


@dataclasses.dataclass(frozen=True)
class Spec:
    """How a value is to be stored, and which it is."""

    point: str  #: name of the value; empty where a report asks what would be chosen
    op: str  #: the operator that computes it or multiplies by it; empty for an input of the network
    target: str  #: name of the target
    storage: str  #: "uint8" and the like
    storage_low: int  #: what the storage type spans: 0
    storage_high: int  #: and 255
    is_weight: bool
    symmetric: bool
    power_of_two: bool


class Calibrator:
    """Chooses ranges; derive from it, or give any object with such a function.

    The range of real values is what the storage type is to span; it is widened to hold 0, and by a 4096th to avoid rounding
    ties unless the effort is "fast". It is asked once for each activation, and for weights once for each channel, from any
    thread.

    >>> import tare
    >>> class Half(tare.Calibrator):
    ...     def choose(self, histogram, spec):
    ...         return histogram.low / 2, histogram.high / 2
    >>> result = tare.quantize("digits.onnx", "digits_calibration.h5",
    ...                        tare.Config(activations=tare.Activations(calibrator=Half())), effort="fast")
    >>> point = result.table["image"]
    >>> point.calibrated[0][1] * 2 == point.observed[0][1]
    True
    """

    def choose(self, histogram: Histogram, spec: Spec) -> Tuple[float, float]:
        """The range (low, high) for what `histogram` shows."""
        raise NotImplementedError


def for_c(name: str, calibrator: Any, failures: Failures) -> "_library.Calibrator":
    """The calibrator as the library calls it; keep what is returned while it does."""

    def choose(_context: Any, seen: Any, asked: Any, low: Any, high: Any) -> int:
        histogram, spec = seen.contents, asked.contents
        bins = numpy.zeros(0, numpy.uint64)
        if histogram.bin_count:
            bins = numpy.ctypeslib.as_array(histogram.bins, (histogram.bin_count,)).copy()
        given = calibrator.choose(
            Histogram(histogram.low, histogram.high, histogram.mean_low, histogram.mean_high, histogram.count,
                      histogram.zeros, histogram.samples, bins, histogram.bin_width),
            Spec(spec.point.decode("utf-8", "replace"), spec.op.decode("utf-8", "replace"), spec.target.decode(),
                 str(_arrays.DTYPES[spec.storage]), spec.storage_low, spec.storage_high, bool(spec.is_weight),
                 bool(spec.symmetric), bool(spec.power_of_two)))
        low[0], high[0] = (float(end) for end in given)
        return 0

    return _library.Calibrator(name=name.encode(), context=None,
                               choose=_library.CHOOSE(failures.guard(choose, 1)))


def metric_for_c(name: str, function: Any, failures: Failures) -> "_library.Metric":
    """A function of (real, quantized, label) as the library calls it; keep what is returned while it does."""

    def of_sample(_context: Any, real: Any, quantized: Any, outputs: int, label: Any, value: Any) -> int:
        given = function([_arrays.view(real[i]) for i in range(outputs)],
                         [_arrays.view(quantized[i]) for i in range(outputs)], label[0] if label else None)
        if given is None:
            return 0
        value[0] = ctypes.c_double(float(given)).value
        return 1

    return _library.Metric(name=name.encode(), context=None, of_sample=_library.OF_SAMPLE(failures.guard(of_sample, -1)))
