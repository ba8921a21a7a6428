"""Models, samples and configurations, in whatever shape they come, as handles of the library."""
from __future__ import annotations

import ctypes
import dataclasses
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from . import _arrays, _errors, _library, calibrators
from ._call import Failures, Handle, Text, Work, check
from ._library import library

#: A path (.onnx, .tflite), the bytes of an ONNX model, an onnx.ModelProto, or a result of quantize().
Model = Any
#: See Samples.
Data = Any
#: A Config, a dict of its keys, or the path of a YAML file.
Configuration = Any
#: Keys on top, such as {"activations.calibrator": "percentile"}.
Settings = Union[None, Mapping[str, Any], Sequence[str]]


def path_bytes(path: Any) -> bytes:
    """A path for C."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise _errors.FileError(f"{path!r}: a path with a 0 byte")
    return encoded


def model_handle(model: Model) -> Handle:
    """A tare_model."""
    made = Handle(library.tare_model_free)
    if hasattr(model, "to_bytes") and hasattr(model, "summary"):
        model = model.to_bytes()
    elif hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
        check(library.tare_model_of_bytes(data, len(data), b"model", made.out))
    elif isinstance(model, (str, os.PathLike)):
        check(library.tare_model_open(path_bytes(model), made.out))
    else:
        raise TypeError(f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
    return made


def model_facts(model: Handle) -> Dict[str, List[str]]:
    """The names of a model's `inputs` in their order, and its `external_files`."""
    text = Text()
    check(library.tare_model_describe(model, text.out))
    facts: Dict[str, List[str]] = json.loads(str(text))
    return facts


def _named(item: Any, names: Sequence[str]) -> Dict[str, Any]:
    """The arrays of a batch that may come without names: as one, or in the order of the inputs and labels behind them."""
    if isinstance(item, Mapping):
        return {str(name): value for name, value in item.items()}
    values = list(item) if isinstance(item, (list, tuple)) else [item]
    if not names:
        raise _errors.DataError("samples: have no names, and no model says which inputs they are for")
    if len(values) not in (len(names), len(names) + 1):
        raise _errors.DataError(f"samples: a batch of {len(values)} arrays for the inputs {', '.join(names)}, expected "
                                f"{len(names)}, or one more with labels")
    return dict(zip([*names, "labels"], values))


def _batch(item: Any, names: Sequence[str]) -> "Dict[str, numpy.ndarray[Any, Any]]":
    return {name: _arrays.as_array(name, value) for name, value in _named(item, names).items()}


def _pieces(data: Any) -> Iterator[Any]:
    """What an iterable gives, or a CalibrationDataReader of ONNX Runtime, whose get_next() ends with None."""
    if hasattr(data, "get_next"):
        return iter(data.get_next, None)
    if hasattr(data, "__iter__") or hasattr(data, "__getitem__"):
        return iter(data)
    raise TypeError("samples are a path, a dict of arrays, an iterable of batches or a CalibrationDataReader, not "
                    f"{type(data).__name__}")


class Samples:
    """Samples, to be used more than once.

    Functions take all of these, and make Samples of them:

    - a dict of arrays, input name -> [samples, ...shape of one]; they are not copied. An entry "labels" has one integer for
      each sample. Where samples differ in shape, as sentences do, an input has a list with an array for each.
    - a list of such dicts with some samples each, a batch at a time, which are not copied either. Batches may differ in the
      shape of a sample where the model leaves extents open.
    - any other iterable of them, such as a generator. It is read once; the samples are kept in a temporary file, so memory
      does not grow with them.
    - a torch DataLoader, or an iterable of arrays or tuples: these are for the inputs in their order, and one more has labels.
    - a CalibrationDataReader of ONNX Runtime, whose get_next() gives such dicts.
    - the path of whatever `--data` of the program takes, such as a folder of pictures. What is guessed about them is a
      TareWarning.

    Where a configuration names states, samples are steps in their order, and states flow back in the model. Samples that have
    got their states keep them.

    >>> import numpy, tare
    >>> len(tare.Samples({"image": numpy.zeros((5, 1, 16, 16), "float32")}))
    5
    >>> len(tare.Samples({"image": numpy.zeros((2, 1, 16, 16), "float32")} for _ in range(3)))
    6
    >>> len(tare.Samples({"ids": [numpy.array([7, 9]), numpy.array([4, 1, 3])]}))
    2
    """

    def __init__(self, data: Data, model: Model = None, config: "Configuration | ConfigHandle" = None):
        """`model` and `config` say what the arrays of a batch are for, and how files are to be read."""
        made = Handle(library.tare_samples_free)
        handle = model if model is None or isinstance(model, Handle) else model_handle(model)
        settled = config if config is None or isinstance(config, Handle) else ConfigHandle(config, None, Failures(), {})
        if isinstance(data, (str, os.PathLike)):
            work = Work(progress=False)
            work.run("tare_samples_open", path_bytes(data), handle, settled, ctypes.byref(work.job), made.out)
        elif isinstance(data, Mapping):
            made = self._view(_arrays.pieces_of({str(name): value for name, value in data.items()}))
        else:
            names = model_facts(handle)["inputs"] if handle is not None else ()
            if isinstance(data, (list, tuple)):
                made = self._view([_batch(item, names) for item in data])
            else:
                self._pull(_pieces(data), names, made)
        self._handle = made
        if settled is not None:
            self._handle = self._with_states(handle, settled)._handle

    @staticmethod
    def _view(pieces: "Sequence[Mapping[str, numpy.ndarray[Any, Any]]]") -> Handle:
        """Samples where they are."""
        described, kept = _arrays.described(pieces)
        made = Handle(library.tare_samples_free, *kept)
        counts = (ctypes.c_size_t * len(pieces))(*map(len, pieces))
        check(library.tare_samples_of_pieces(described, counts, len(pieces), made.out))
        return made

    def _pull(self, pieces: Iterator[Any], names: Sequence[str], made: Handle) -> None:
        failures = Failures()
        kept: List[Any] = []

        def following(_context: Any, arrays: Any, count: Any) -> int:
            kept.clear()
            try:
                item = next(pieces)
            except StopIteration:
                return 0
            batch = _batch(item, names)
            described, keep = _arrays.described([batch])
            kept.extend(keep)
            arrays[0] = ctypes.cast(described, ctypes.POINTER(_library.Array))
            count[0] = len(batch)
            return 1

        stream = _library.Stream(None, _library.NEXT(failures.guard(following, -1)))
        error = library.tare_samples_of_stream(ctypes.byref(stream), made.out)
        if failures.first is not None:
            raise failures.first
        check(error)

    def __len__(self) -> int:
        return int(library.tare_samples_count(self._handle))

    @property
    def labels(self) -> "Optional[numpy.ndarray[Any, Any]]":
        """[samples], int64; None where there are none."""
        labels = numpy.zeros(len(self), "int64")
        count = ctypes.c_size_t()
        check(library.tare_samples_labels(self._handle, labels.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)),
                                          ctypes.byref(count)))
        return labels if count.value else None

    @staticmethod
    def _of(handle: Handle) -> "Samples":
        samples = Samples.__new__(Samples)
        samples._handle = handle
        return samples

    def _with_states(self, model: Optional[Handle], config: Handle) -> "Samples":
        """The same with the states that the configuration names, where there are none yet."""
        made = Handle(library.tare_samples_free, self._handle)
        Work(progress=False).run("tare_samples_with_states", self._handle, model, config, made.out)
        return self._of(made)

    def _part(self, which: int, count: int) -> "Samples":
        made = Handle(library.tare_samples_free, self._handle)
        check(library.tare_samples_part(self._handle, which, count, made.out))
        return self._of(made)

    def first(self, count: int) -> "Samples":
        """The first `count`."""
        return self._part(0, count)

    def share(self, number: int, count: int) -> "Samples":
        """Of `count` parts of about the same size that follow each other, the one of that number, from 0 on.

        >>> import tare
        >>> samples = tare.Samples("digits_evaluation.h5")
        >>> sum(len(samples.share(number, 3)) for number in range(3)) == len(samples)
        True
        """
        begin, end = len(self) * number // count, len(self) * (number + 1) // count
        return self._part(0, end)._part(3, begin)

    def evenly_spaced(self, count: int) -> "Samples":
        """`count` that are spread evenly."""
        return self._part(1, count)

    def without_evenly_spaced(self, count: int) -> "Samples":
        """All but those of evenly_spaced(count)."""
        return self._part(2, count)


def samples_of(data: Data, model: Handle, config: "Optional[ConfigHandle]" = None) -> Samples:
    """Samples for a model."""
    if not isinstance(data, Samples):
        return Samples(data, model, config)
    return data if config is None else data._with_states(model, config)


def _plain(value: Any, found: Dict[str, Any]) -> Any:
    """What JSON can say; calibrators are left in `found` under the names that stand for them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(entry, found) for key, entry in value.items() if entry is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(entry, found) for entry in value]
    if hasattr(value, "choose"):
        for name, known in found.items():
            if known is value:
                return name
        name = f"python_{type(value).__name__.lower()}_{len(found)}" if found else f"python_{type(value).__name__.lower()}"
        found[name] = value
        return name
    return value


def _setting(key: str, value: Any) -> str:
    return f"{key}={value if isinstance(value, str) else json.dumps(value)}"


class ConfigHandle(Handle):
    """A tare_config, and the callbacks in it."""

    def __init__(self, config: Configuration, settings: Settings, failures: Failures,
                 overrides: Mapping[str, Optional[str]], metrics: Optional[Mapping[str, Any]] = None):
        kept: List[Any] = []
        super().__init__(library.tare_config_free, kept)
        check(library.tare_config_new(self.out))
        self.failures = failures
        found: Dict[str, Any] = {}
        if isinstance(config, (str, os.PathLike)):
            check(library.tare_config_read(self, path_bytes(config)))
        elif config is not None:
            if not isinstance(config, Mapping) and not dataclasses.is_dataclass(config):
                raise TypeError(f"a configuration is a tare.Config, a dict or a path, not {type(config).__name__}")
            check(library.tare_config_read_text(self, json.dumps(_plain(config, found)).encode()))
        given = _plain(dict(settings), found) if isinstance(settings, Mapping) else None
        for text in settings or () if given is None else [_setting(*entry) for entry in given.items()]:
            check(library.tare_config_set(self, str(text).encode()))
        for key, word in overrides.items():
            if word is not None:
                check(library.tare_config_set(self, _setting(key, word).encode()))
        for name, calibrator in found.items():
            kept.append(calibrators.for_c(name, calibrator, failures))
            check(library.tare_config_add_calibrator(self, ctypes.byref(kept[-1])))
        for name, metric in (metrics or {}).items():
            kept.append(calibrators.metric_for_c(name, metric, failures))
            check(library.tare_config_add_metric(self, ctypes.byref(kept[-1])))
