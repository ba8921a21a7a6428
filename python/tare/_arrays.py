"""Arrays of numpy as those of the library, and back; nothing is copied."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Tuple

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


def described(arrays: Mapping[str, "numpy.ndarray[Any, Any]"]) -> Tuple[Any, List[Any]]:
    """The arrays for C, and what has to live as long."""
    result = (_library.Array * len(arrays))()
    kept: List[Any] = [result]
    for entry, (name, array) in zip(result, arrays.items()):
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
