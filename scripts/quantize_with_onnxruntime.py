"""Quantizes a model with ONNX Runtime's own quantizer, to compare with.

usage: quantize_with_onnxruntime.py MODEL.onnx SAMPLES.h5 OUT.onnx [QDQ | QOperator] [int8 | uint8]
Its recommended settings: pre-processing, weights per channel, QuantizeLinear and DequantizeLinear unless the other form
is asked for, activations of int8 unless uint8 is; the first 16 samples.
"""
import os
import sys
import tempfile

import h5py
import numpy
import onnx.reference  # before onnxruntime: in some builds both register operators otherwise
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

SAMPLES = 16


def read(dataset, count):
    """Samples as the network takes them: integers with `mean` and `std` are normalized."""
    values = dataset[:count]
    if "mean" not in dataset.attrs:
        return values
    shape = (1, -1) + (1,) * (values.ndim - 2)
    mean, std = (numpy.ravel(dataset.attrs[name]).reshape(shape) for name in ("mean", "std"))
    return ((values - mean) / std).astype(numpy.float32)


class Reader(CalibrationDataReader):
    def __init__(self, model, path):
        with h5py.File(path) as file:
            arrays = {i.name: read(file[i.name], SAMPLES) for i in onnx.load(model).graph.input if i.name in file}
        count = min(len(values) for values in arrays.values())
        self.feeds = iter([{name: values[k : k + 1] for name, values in arrays.items()} for k in range(count)])

    def get_next(self):
        return next(self.feeds, None)


def main(model, samples, out, form="QDQ", activations="int8"):
    types = {"int8": QuantType.QInt8, "uint8": QuantType.QUInt8}
    with tempfile.TemporaryDirectory() as folder:
        prepared = os.path.join(folder, "prepared.onnx")
        quant_pre_process(model, prepared, skip_symbolic_shape=True)
        quantize_static(prepared, out, Reader(prepared, samples), quant_format=QuantFormat[form], per_channel=True,
                        activation_type=types[activations], weight_type=QuantType.QInt8)


if __name__ == "__main__":
    main(*sys.argv[1:])
