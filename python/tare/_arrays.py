"""Arrays of numpy as those of the library, and back; nothing is copied."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy

from . import _errors, _library

# In the order of the numbers in c.h. Of bfloat16, the last one, numpy knows no more than the bits.
DTYPES = [numpy.dtype(name) for name in ("float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32",
                                         "uint32", "int64", "uint64", "bool", "uint16")]
_NUMBER = {dtype: number for number, dtype in enumerate(DTYPES[:-1])}


def as_array(name: str, value: Any) -> "numpy.ndarray[Any, Any]":
    """An array of a kind that the library knows: of numpy, of torch (on the CPU), or a list of numbers."""
    if not isinstance(value, numpy.ndarray):
        if hasattr(value, "detach"):  # a tensor of torch, also one that gradients go through or on another device
            value = value.detach().cpu()
        value = numpy.asarray(value)
    if value.dtype not in _NUMBER:
        native = value.dtype.newbyteorder("=")
        if native not in _NUMBER:
            raise _errors.DataError(f"input '{name}': an array of {value.dtype}, expected numbers or truth values")
        value = value.astype(native)
    return value  # type: ignore[no-any-return]


def of_each_sample(name: str, value: Any) -> "Optional[List[numpy.ndarray[Any, Any]]]":
    """The arrays of samples that differ in shape; None where it is one array."""
    is_of_objects = isinstance(value, numpy.ndarray) and value.dtype == object and value.ndim == 1
    if not isinstance(value, (list, tuple)) and not is_of_objects:
        return None
    arrays = [as_array(name, sample) for sample in value]
    return arrays if len({array.shape for array in arrays}) > 1 else None


def pieces_of(data: Mapping[str, Any]) -> "List[Dict[str, numpy.ndarray[Any, Any]]]":
    """Arrays, or a list of arrays for an input whose samples differ in shape, as pieces of as many samples as have one shape."""
    each = {name: of_each_sample(name, value) for name, value in data.items()}
    if not any(each.values()):
        return [{name: as_array(name, value) for name, value in data.items()}]
    whole = {name: each[name] or as_array(name, value) for name, value in data.items()}
    first, count = next((name, len(arrays)) for name, arrays in each.items() if arrays)
    for name, samples in whole.items():
        found = len(samples) if isinstance(samples, list) or samples.ndim else 1
        if found != count:
            raise _errors.DataError(f"input '{name}': holds {found} samples, expected {count} as in '{first}'")
    return [{name: samples[i][None] if isinstance(samples, list) else samples[i:i + 1] for name, samples in whole.items()}
            for i in range(count)]


def described(pieces: "Sequence[Mapping[str, numpy.ndarray[Any, Any]]]") -> Tuple[Any, List[Any]]:
    """The arrays of all pieces for C, one piece after another, and what has to live as long."""
    result = (_library.Array * sum(map(len, pieces)))()
    kept: List[Any] = [result]
    for entry, (name, array) in zip(result, (item for piece in pieces for item in piece.items())):
        axes = ctypes.c_int64 * array.ndim
        shape, strides = axes(*array.shape), axes(*array.strides)
        encoded = name.encode()
        entry.name, entry.data, entry.rank, entry.dtype = encoded, array.ctypes.data, array.ndim, _NUMBER[array.dtype]
        entry.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        entry.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
        kept += [encoded, shape, strides, array]
    return result, kept


def view(entry: Any) -> "numpy.ndarray[Any, Any]":
    """An array of the library's, while that lives."""
    shape = tuple(entry.shape[axis] for axis in range(entry.rank))
    dtype = DTYPES[entry.dtype]
    count = int(numpy.prod(shape, dtype=numpy.int64))
    if count == 0:
        return numpy.empty(shape, dtype)
    buffer = (ctypes.c_char * (count * dtype.itemsize)).from_address(entry.data)
    array = numpy.frombuffer(buffer, dtype).reshape(shape)
    array.flags.writeable = False
    return array


def views(entries: Any, count: int) -> Dict[str, "numpy.ndarray[Any, Any]"]:
    """Arrays of the library's by name, while they live."""
    return {entries[i].name.decode("utf-8", "replace"): view(entries[i]) for i in range(count)}
