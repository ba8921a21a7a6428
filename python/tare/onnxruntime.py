"""The names of `onnxruntime.quantization`, so that a script changes one line:

    from tare.onnxruntime import CalibrationDataReader, QuantType, quantize_static

Signatures are those of ONNX Runtime 1.21; neither it nor `onnx` has to be installed. Options that Tare does something else
about are said once, with what is done instead; docs/python.md has a table of all.
"""
from __future__ import annotations

import enum
import os
import pathlib
import shutil
import tempfile
import warnings
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _functions
from ._errors import ConfigError, TareWarning, UnsupportedError
from ._inputs import Samples, model_facts, model_handle
from .results import Result

__all__ = ["CalibrationDataReader", "CalibrationMethod", "QuantFormat", "QuantType", "QuantizationMode", "quant_pre_process",
           "quantize_dynamic", "quantize_static"]

_Path = Union[str, "os.PathLike[str]"]


class _Named(enum.Enum):
    """Enumerations that read and print as their names."""

    def __str__(self) -> str:
        return self.name

    @classmethod
    def from_string(cls, name: str) -> Any:
        """The member of that name.

        >>> from tare.onnxruntime import QuantType
        >>> QuantType.from_string("QInt8") is QuantType.QInt8
        True
        """
        try:
            return cls[name]
        except KeyError:
            raise ValueError(f"'{name}' is none of {', '.join(cls.__members__)}") from None


class CalibrationMethod(enum.Enum):
    """How ranges of activations are chosen."""
    MinMax = 0
    Entropy = 1
    Percentile = 2
    Distribution = 3


class QuantType(_Named):
    """Types of stored integers."""
    QInt8 = 0
    QUInt8 = 1
    QFLOAT8E4M3FN = 2
    QInt16 = 3
    QUInt16 = 4
    QInt4 = 5
    QUInt4 = 6


class QuantFormat(_Named):
    """How a file says what is quantized."""
    QOperator = 0
    QDQ = 1


class QuantizationMode(_Named):
    """Kinds of integer operators."""
    IntegerOps = 0
    QLinearOps = 1


class CalibrationDataReader:
    """Gives samples: derive from it. A class of ONNX Runtime's own does as well.

    >>> import numpy
    >>> from tare.onnxruntime import CalibrationDataReader, quantize_static
    >>> class Reader(CalibrationDataReader):
    ...     def __init__(self):
    ...         self.batches = iter([{"image": numpy.random.rand(8, 1, 16, 16).astype("float32")} for _ in range(8)])
    ...     def get_next(self):
    ...         return next(self.batches, None)
    >>> quantize_static("digits.onnx", "digits.int8.onnx", Reader())
    """

    def get_next(self) -> Optional[Dict[str, Any]]:
        """Input name -> array of what the model takes in one run, samples along the first axis; None at the end."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return self

    def __next__(self) -> Dict[str, Any]:
        following = self.get_next()
        if following is None:
            raise StopIteration
        return following


_said = set()


def _say(option: str, instead: str) -> None:
    """Once in a process."""
    if option not in _said:
        _said.add(option)
        warnings.warn(f"{option}: {instead}", TareWarning, stacklevel=4)


_STORAGE = {"QInt8": ("int8", 8), "QUInt8": ("uint8", 8), "QInt16": ("int16", 16), "QUInt16": ("uint16", 16),
            "QInt4": ("int8", 4), "QUInt4": ("uint8", 4)}

_SMOOTHQUANT = "effort 'default' in extra_options tries it with strengths found on the samples, and keeps it where it helps"

# Options that change nothing here, and why that does no harm.
_WITHOUT_EFFECT = {
    "extra.Sigmoid.nnapi": "the target decides the range of Sigmoid; NNAPI is no target",
    "EnableSubgraph": "bodies of If and Loop stay in float",
    "ForceQuantizeNoInputCheck": "operators that only move values are quantized where their neighbours are",
    "AddQDQPairToWeight": "weights are stored as integers",
    "DedicatedQDQPair": "the target decides which conversions readers share",
    "QDQOpTypePerChannelSupportToAxis": "channels of weights are those of the operator's results",
    "CalibMovingAverageConstant": "the mean over all samples is taken, each counts as much as any other",
    "CalibMaxIntermediateOutputs": "memory does not grow with the number of samples",
    "CalibStridedMinMax": "memory does not grow with the number of samples",
    "SmoothQuant": _SMOOTHQUANT,
    "SmoothQuantAlpha": _SMOOTHQUANT,
    "SmoothQuantFolding": _SMOOTHQUANT,
    "UseQDQContribOps": "operators of ONNX are written, with the opset that they need",
    "QDQKeepRemovableActivations": "Relu and Clip are left out where saturation does their work",
    "QDQDisableWeightAdjustForInt32Bias": "weights widen where a bias would not fit int32",
    "MatMulConstBOnly": "products of two activations are quantized where that saves time on the target",
    "DefaultTensorType": "types are inferred for every tensor",
    "num_bins": "histograms have 4096 bins",
    "num_quantized_bins": "there are as many levels as the storage type has",
}
# Options that would make another network, which cannot be had this way.
_UNSUPPORTED = {
    "TensorQuantOverrides": "write entries of `layers` in a configuration of tare.quantize() instead",
    "MinimumRealRange": "give the range of a layer with the calibrator 'fixed' in tare.quantize() instead",
    "OpTypesToExcludeOutputQuantization": "write entries of `layers` with `keep_float` in tare.quantize() instead",
}
_TRANSLATED = ("ActivationSymmetric", "WeightSymmetric", "CalibTensorRangeSymmetric", "CalibMovingAverage", "CalibPercentile",
               "QuantizeBias", "percentile", "symmetric", "moving_average", "effort")


def _check_extra(options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        if name in _UNSUPPORTED and value:
            raise UnsupportedError(f"extra_options '{name}' is not supported\n  hint: {_UNSUPPORTED[name]}")
        if name in _WITHOUT_EFFECT:
            if value not in (None, False):
                _say(f"extra_options '{name}'", f"has no effect; {_WITHOUT_EFFECT[name]}")
        elif name not in _TRANSLATED and name not in _UNSUPPORTED:
            _say(f"extra_options '{name}'", "is not known, and has no effect")


def _storage(type_: Any, what: str) -> "tuple[str, int]":
    name = getattr(type_, "name", str(type_))
    if name not in _STORAGE:
        raise UnsupportedError(f"{what} {name} is not supported, expected {', '.join(_STORAGE)}")
    return _STORAGE[name]


def _rules(model: Any, samples: Optional[Samples], types: Optional[Sequence[str]], only: Optional[Sequence[str]],
           excluded: Optional[Sequence[str]]) -> List[Dict[str, Any]]:
    """Entries of `layers` for what is to be quantized: all but what stays in float."""
    if not (types or only or excluded):
        return []
    # A Relu that a convolution fuses with is no operator by itself.
    operators = [entry for entry in _functions.explain(model, data=samples)["operators"] if not entry.get("is_part")]
    names = {entry["node"] for entry in operators}
    rules = []
    for kind in sorted({entry["op"] for entry in operators} - set(types) if types else ()):
        rules.append({"match": {"op": kind}, "if_present": True, "keep_float": True})
    kept = names - set(only) if only else set()
    for name in sorted(kept | set(excluded or ())):
        rules.append({"match": {"name": name}, "if_present": True, "keep_float": True})
    for option, given in (("nodes_to_quantize", only), ("nodes_to_exclude", excluded)):
        for name in given or ():
            if name not in names:
                _say(f"{option} '{name}'", "is no operator with weights or values that could be quantized by itself")
    return rules


def _quantized_nodes(model: Any, samples: Optional[Samples], types: Optional[Sequence[str]], only: Optional[Sequence[str]],
                     excluded: Optional[Sequence[str]]) -> Dict[str, Any]:
    """Keys of a configuration. Whoever names nodes wants them on integers, faster or not."""
    layers = _rules(model, samples, types, only, excluded)
    return {"layers": layers, "objective": "coverage"} if only else {"layers": layers}


def _weights(type_: Any, per_channel: Optional[bool], reduce_range: bool, extra: Mapping[str, Any]) -> Dict[str, Any]:
    storage, bits = _storage(type_, "weight_type")
    if per_channel is None:
        _say("per_channel", "is not given, so each channel of weights has a scale, which is closer to float and as fast; "
                            "per_channel=False gives each tensor one")
        per_channel = True
    if bits == 16:
        raise UnsupportedError("weight_type of 16 bits is not supported, expected QInt8, QUInt8, QInt4 or QUInt4")
    if reduce_range:
        _say("reduce_range", "has no effect; weights that are multiplied together are kept within what 16 bits hold, with all "
                             "8 bits of the others")
    result: Dict[str, Any] = {"storage": storage, "granularity": "per_axis" if per_channel else "per_tensor",
                              "symmetric": bool(extra.get("WeightSymmetric", storage == "int8"))}
    if bits < 8:
        result["bits"] = bits
    if not result["symmetric"]:
        result["narrow"] = False
    return result


def _calibrator(method: Any, extra: Mapping[str, Any]) -> Any:
    name = getattr(method, "name", str(method))
    if name == "MinMax":
        return "average_max" if extra.get("CalibMovingAverage", extra.get("moving_average")) else "max"
    if name == "Entropy":
        return "kl"
    if name == "Percentile":
        return {"name": "percentile", "percentile": float(extra.get("CalibPercentile", extra.get("percentile", 99.999)))}
    raise UnsupportedError(f"calibrate_method {name} is not supported, expected MinMax, Entropy or Percentile")


def _say_common(use_external_data_format: bool) -> None:
    if use_external_data_format:
        _say("use_external_data_format", "has no effect; constants go to a file beside the model where it has more than 2 GB")


def quantize_static(model_input: Any, model_output: _Path, calibration_data_reader: Any, quant_format: Any = QuantFormat.QDQ,
                    op_types_to_quantize: Optional[Sequence[str]] = None, per_channel: Optional[bool] = None,
                    reduce_range: bool = False, activation_type: Any = QuantType.QInt8, weight_type: Any = QuantType.QInt8,
                    nodes_to_quantize: Optional[Sequence[str]] = None, nodes_to_exclude: Optional[Sequence[str]] = None,
                    use_external_data_format: bool = False, calibrate_method: Any = CalibrationMethod.MinMax,
                    calibration_providers: Any = None, extra_options: Optional[Mapping[str, Any]] = None) -> None:
    """Quantizes a model on samples and writes it.

    model_input: path, or an onnx.ModelProto. calibration_data_reader: see CalibrationDataReader. Everything else is mapped to
    the configuration of tare.quantize() as docs/python.md says.
    """
    extra = dict(extra_options or {})
    _check_extra(extra)
    _say_common(use_external_data_format)
    if calibration_providers:
        _say("calibration_providers", "has no effect; samples run on the processor")
    if extra.get("QuantizeBias") is False:
        _say("extra_options 'QuantizeBias'", "has no effect; the target decides whether biases are integers")
    if calibration_data_reader is None:
        raise ConfigError("calibration_data_reader is None, expected an object with get_next()")
    storage, bits = _storage(activation_type, "activation_type")
    if bits == 4:
        raise UnsupportedError("activation_type of 4 bits is not supported, expected 8 or 16 bits")
    calibrator = _calibrator(calibrate_method, extra)
    weights = _weights(weight_type, per_channel, reduce_range, extra)
    samples = Samples(calibration_data_reader, model_handle(model_input))
    symmetric = any(extra.get(name) for name in ("ActivationSymmetric", "CalibTensorRangeSymmetric", "symmetric"))
    config = {
        "activations": {"storage": storage, "symmetric": bool(symmetric), "calibrator": calibrator},
        "weights": weights,
        **_quantized_nodes(model_input, samples, op_types_to_quantize, nodes_to_quantize, nodes_to_exclude),
    }
    form = "qoperator" if getattr(quant_format, "name", "") == "QOperator" else "qdq"
    result = _quantized(model_input, samples, config, extra)
    _say_if_in_float(result)
    result.save(model_output, form)


def _say_if_in_float(result: Result) -> None:
    if result.summary["operators"]["on_integers"] == 0:
        kept = result.summary["kept_float"]
        why = f", such as {kept[0]['node']} ({kept[0]['op']}): {kept[0]['reason']}" if kept else ""
        warnings.warn(f"nothing runs on integers{why}; tare.quantize() with the setting objective=coverage quantizes all it can",
                      TareWarning, stacklevel=3)


def _quantized(model: Any, data: Any, config: Dict[str, Any], extra: Mapping[str, Any]) -> Result:
    return _functions.quantize(model, data, config, effort=extra.get("effort", "fast"), evaluate=False, progress=False)


def quantize_dynamic(model_input: Any, model_output: _Path, op_types_to_quantize: Optional[Sequence[str]] = None,
                     per_channel: Optional[bool] = None, reduce_range: bool = False, weight_type: Any = QuantType.QInt8,
                     nodes_to_quantize: Optional[Sequence[str]] = None, nodes_to_exclude: Optional[Sequence[str]] = None,
                     use_external_data_format: bool = False, extra_options: Optional[Mapping[str, Any]] = None) -> None:
    """Quantizes the weights of products, whose other operands get their parameters while the model runs.

    >>> from tare.onnxruntime import QuantType, quantize_dynamic
    >>> quantize_dynamic("digits.onnx", "digits.dynamic.onnx", weight_type=QuantType.QInt8)
    """
    extra = dict(extra_options or {})
    _check_extra(extra)
    _say_common(use_external_data_format)
    config = {"activations": {"dynamic": True}, "weights": _weights(weight_type, per_channel, reduce_range, extra),
              **_quantized_nodes(model_input, None, op_types_to_quantize, nodes_to_quantize, nodes_to_exclude)}
    _quantized(model_input, None, config, extra).save(model_output)


def quant_pre_process(input_model: Any = None, output_model_path: Optional[_Path] = None, skip_optimization: bool = False,
                      skip_onnx_shape: bool = False, skip_symbolic_shape: bool = False, auto_merge: bool = False,
                      int_max: int = 2**31 - 1, guess_output_rank: bool = False, verbose: int = 0,
                      save_as_external_data: bool = False, all_tensors_to_one_file: bool = False,
                      external_data_location: Optional[str] = None, external_data_size_threshold: int = 1024,
                      **deprecated_kwargs: Any) -> None:
    """Copies the model: quantizing infers shapes and folds operators itself, so nothing has to come before it.

    >>> from tare.onnxruntime import quant_pre_process
    >>> quant_pre_process("digits.onnx", "digits.prepared.onnx")
    """
    model = input_model if input_model is not None else deprecated_kwargs.pop("input_model_path", None)
    if model is None or output_model_path is None:
        raise ConfigError("quant_pre_process needs input_model and output_model_path")
    _say("quant_pre_process", "copies the model; quantizing infers shapes and folds operators itself, none of the options has "
                              "an effect")
    output = pathlib.Path(output_model_path)
    if hasattr(model, "SerializeToString"):
        with tempfile.NamedTemporaryFile(dir=output.parent, delete=False) as file:
            file.write(model.SerializeToString())
        os.chmod(file.name, 0o644)
        os.replace(file.name, output)
        return
    source = pathlib.Path(model)
    if output.exists() and output.samefile(source):
        return
    shutil.copyfile(source, output)
    for name in model_facts(model_handle(source))["external_files"]:
        if (output.parent / name).resolve() != (source.parent / name).resolve():
            (output.parent / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source.parent / name, output.parent / name)
