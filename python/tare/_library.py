"""libtare.so by ctypes: the declarations of include/tare/c.h, and nothing else."""
from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint64,
                    c_void_p)
from typing import Any, List, Optional

C_VERSION = 1
NAME = "libtare.so.1"


class Array(Structure):
    """tare_array"""
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("rank", c_int32), ("dtype", c_int32)]


PROGRESS = CFUNCTYPE(c_int, c_void_p, c_char_p, c_size_t, c_size_t)
WARNING = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p, c_char_p)


class Job(Structure):
    """tare_job"""
    _fields_ = [("size", c_size_t), ("samples", c_size_t), ("threads", c_int32), ("context", c_void_p),
                ("progress", PROGRESS), ("warning", WARNING)]


NEXT = CFUNCTYPE(c_int, c_void_p, POINTER(POINTER(Array)), POINTER(c_size_t))


class Stream(Structure):
    """tare_stream"""
    _fields_ = [("context", c_void_p), ("next", NEXT)]


class Histogram(Structure):
    """tare_histogram"""
    _fields_ = [("low", c_double), ("high", c_double), ("mean_low", c_double), ("mean_high", c_double),
                ("count", c_uint64), ("zeros", c_uint64), ("samples", c_uint64), ("bins", POINTER(c_uint64)),
                ("bin_count", c_size_t), ("bin_width", c_double)]


class Spec(Structure):
    """tare_spec"""
    _fields_ = [("point", c_char_p), ("op", c_char_p), ("target", c_char_p), ("storage_low", c_int64),
                ("storage_high", c_int64), ("storage", c_int32), ("is_weight", c_int32), ("symmetric", c_int32),
                ("power_of_two", c_int32)]


CHOOSE = CFUNCTYPE(c_int, c_void_p, POINTER(Histogram), POINTER(Spec), POINTER(c_double), POINTER(c_double))


class Calibrator(Structure):
    """tare_calibrator"""
    _fields_ = [("name", c_char_p), ("context", c_void_p), ("choose", CHOOSE)]


OF_SAMPLE = CFUNCTYPE(c_int, c_void_p, POINTER(Array), POINTER(Array), c_size_t, POINTER(c_int64), POINTER(c_double))


class Metric(Structure):
    """tare_metric"""
    _fields_ = [("name", c_char_p), ("context", c_void_p), ("of_sample", OF_SAMPLE)]


TAKE = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(Array), c_size_t)


class SearchOptions(Structure):
    """tare_search_options"""
    _fields_ = [("size", c_size_t), ("conditions", POINTER(c_char_p)), ("condition_count", c_size_t),
                ("least_integers", c_double), ("seconds", c_double), ("holdout", c_int64), ("checkpoint", c_char_p),
                ("budgets", POINTER(c_char_p)), ("budget_count", c_size_t)]


class Error(c_void_p):
    """tare_error*, null where there is none: a result that frees itself, wherever Ctrl-C finds it."""

    def __del__(self) -> None:
        if self:
            library.tare_error_free(self)


_TEXT = POINTER(c_void_p)  # a char* that tare_free() takes: c_char_p would lose it
_OUT = POINTER(c_void_p)
_JOB = POINTER(Job)

# Functions that return an error, and what they take.
_CALLS = {
    "tare_describe": [_TEXT],
    "tare_model_open": [c_char_p, _OUT],
    "tare_model_describe": [c_void_p, _TEXT],
    "tare_model_of_bytes": [c_char_p, c_size_t, c_char_p, _OUT],
    "tare_samples_open": [c_char_p, c_void_p, c_void_p, _JOB, _OUT],
    "tare_samples_of_pieces": [POINTER(Array), POINTER(c_size_t), c_size_t, _OUT],
    "tare_samples_of_stream": [POINTER(Stream), _OUT],
    "tare_samples_part": [c_void_p, c_int32, c_size_t, _OUT],
    "tare_samples_with_states": [c_void_p, c_void_p, c_void_p, _OUT],
    "tare_samples_labels": [c_void_p, POINTER(c_int64), POINTER(c_size_t)],
    "tare_config_new": [_OUT],
    "tare_config_read": [c_void_p, c_char_p],
    "tare_config_read_text": [c_void_p, c_char_p],
    "tare_config_set": [c_void_p, c_char_p],
    "tare_config_check": [c_void_p],
    "tare_config_add_calibrator": [c_void_p, POINTER(Calibrator)],
    "tare_config_add_metric": [c_void_p, POINTER(Metric)],
    "tare_statistics_collect": [c_void_p, c_void_p, c_void_p, c_char_p, _JOB, _OUT],
    "tare_statistics_read": [c_char_p, _OUT],
    "tare_statistics_write": [c_void_p, c_char_p],
    "tare_statistics_merge": [c_void_p, c_void_p],
    "tare_quantize": [c_void_p, c_void_p, c_void_p, _JOB, _OUT],
    "tare_quantize_statistics": [c_void_p, c_void_p, c_void_p, _JOB, _OUT],
    "tare_quantize_table": [c_void_p, c_char_p, c_void_p, _JOB, _OUT],
    "tare_quantized_write": [c_void_p, c_char_p, c_char_p],
    "tare_quantized_write_table": [c_void_p, c_char_p],
    "tare_quantized_summary": [c_void_p, _TEXT],
    "tare_quantized_compare": [c_void_p, c_void_p, c_int32, c_int32, _JOB, _OUT],
    "tare_compare": [c_void_p, c_void_p, c_void_p, c_void_p, c_char_p, _JOB, _OUT],
    "tare_report_json": [c_void_p, _TEXT],
    "tare_report_write": [c_void_p, c_char_p],
    "tare_report_annotate": [c_void_p, c_void_p, c_char_p],
    "tare_run": [c_void_p, c_void_p, c_void_p, c_char_p, _JOB, TAKE, c_void_p],
    "tare_explain": [c_void_p, c_void_p, c_void_p, _TEXT],
    "tare_inspect": [c_void_p, c_void_p, c_void_p, c_char_p, c_int32, _JOB, _TEXT],
    "tare_search": [c_void_p, c_void_p, c_void_p, POINTER(SearchOptions), _JOB, _OUT, _TEXT],
}
_FREED = ("tare_error_free", "tare_model_free", "tare_samples_free", "tare_config_free", "tare_statistics_free",
          "tare_quantized_free", "tare_report_free", "tare_free")


def _candidates() -> List[str]:
    beside = pathlib.Path(__file__).parent / "lib" / NAME
    given: Optional[str] = os.environ.get("TARE_LIBRARY")
    return [given] if given else [str(beside)] if beside.exists() else [NAME]


def _load() -> Any:
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            raise ImportError(f"cannot load {path}: {error}\n"
                              "hint: the wheel and the package python3-tare have it; TARE_LIBRARY=FILE names another") from error
    found = library.tare_c_version()
    if found != C_VERSION:
        raise ImportError(f"{library._name} has version {found} of the C interface, expected {C_VERSION}")
    for name, arguments in _CALLS.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = Error
    for name in _FREED:
        getattr(library, name).argtypes = [c_void_p]
        getattr(library, name).restype = None
    library.tare_version.restype = c_char_p
    library.tare_error_code.argtypes = [c_void_p]
    library.tare_error_message.argtypes = [c_void_p]
    library.tare_error_message.restype = c_char_p
    library.tare_samples_count.argtypes = [c_void_p]
    library.tare_samples_count.restype = c_size_t
    library.tare_statistics_samples.argtypes = [c_void_p]
    library.tare_statistics_samples.restype = c_uint64
    return library


library = _load()
