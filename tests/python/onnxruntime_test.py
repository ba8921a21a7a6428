"""What a script that was written for ONNX Runtime's tool gets from ours."""
import inspect
import os
import pathlib
import unittest
import warnings

import numpy

import support
import tare
import tare.onnxruntime as drop_in
from tare.onnxruntime import (CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quant_pre_process,
                              quantize_dynamic, quantize_static)


class Reader(CalibrationDataReader):
    def __init__(self, count=32):
        self.left = list(support.images(count))

    def get_next(self):
        return {"image": self.left.pop(0)[None]} if self.left else None


class Static(support.InFolder):
    def setUp(self):
        super().setUp()
        drop_in._said.clear()

    def quantized(self, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tare.TareWarning)  # about the samples, which are noise
            warnings.filterwarnings("error", ".*(no effect|instead)", tare.TareWarning)
            quantize_static("digits.onnx", "own.onnx", Reader(), **options)
        return pathlib.Path("own.onnx").read_bytes()

    def same_as(self, config, **options):
        self.assertEqual(self.quantized(**options), tare.quantize(
            "digits.onnx", {"image": support.images(32)}, config, evaluate=False).to_bytes())

    def test_the_options_are_those_of_the_configuration(self):
        plain = {"activations": {"storage": "int8", "calibrator": "max"},
                 "weights": {"storage": "int8", "granularity": "per_tensor"}}

        def with_(**more):
            return {key: {**plain.get(key, {}), **more.get(key, {})} for key in {*plain, *more}}

        self.same_as(plain)
        self.same_as(with_(weights={"granularity": "per_axis"}), per_channel=True)
        self.same_as(with_(activations={"storage": "uint8"}), activation_type=QuantType.QUInt8)
        self.same_as(with_(activations={"calibrator": "kl"}), calibrate_method=CalibrationMethod.Entropy)
        self.same_as(with_(activations={"calibrator": {"name": "percentile", "percentile": 99.9}}),
                     calibrate_method=CalibrationMethod.Percentile, extra_options={"CalibPercentile": 99.9})
        self.same_as(with_(activations={"symmetric": True}), extra_options={"ActivationSymmetric": True})
        self.same_as(with_(activations={"calibrator": "average_max"}), extra_options={"CalibMovingAverage": True})
        self.same_as(with_(weights={"bits": 4}), weight_type=QuantType.QInt4)

    def test_names_and_types_decide_what_is_quantized(self):
        conv = next(entry["node"] for entry in tare.explain("digits.onnx")["operators"] if entry["op"] == "Conv")
        every = {entry["node"] for entry in tare.explain("digits.onnx")["operators"] if not entry.get("is_part")}

        def floats(**options):
            quantize_static("digits.onnx", "own.onnx", Reader(), **options)
            return {entry["node"] for entry in tare.explain("own.onnx")["operators"] if "float_because" in entry}

        before = floats()
        self.assertNotIn(conv, before)
        self.assertIn(conv, floats(nodes_to_exclude=[conv]))
        gemms = {entry["node"] for entry in tare.explain("digits.onnx")["operators"] if entry["op"] == "Gemm"}
        self.assertLessEqual(gemms, floats(op_types_to_quantize=["Conv"]))
        only = floats(nodes_to_quantize=[conv])
        self.assertNotIn(conv, only)
        self.assertLessEqual(gemms, only)
        self.assertTrue(every)

    def test_formats(self):
        quantize_static("digits.onnx", "own.onnx", Reader(), quant_format=QuantFormat.QOperator, per_channel=True)
        self.assertIn("QLinearConv", pathlib.Path("own.onnx").read_bytes().decode("latin1"))

    def test_a_model_may_be_a_message(self):
        class Proto:
            def SerializeToString(self):
                return pathlib.Path("digits.onnx").read_bytes()

        quantize_static(Proto(), "own.onnx", Reader())
        expected = self.quantized()
        quantize_static(Proto(), "own.onnx", Reader())
        self.assertEqual(pathlib.Path("own.onnx").read_bytes(), expected)

    def test_options_without_effect_are_said_once(self):
        options = {"reduce_range": True, "use_external_data_format": True, "calibration_providers": ["CPUExecutionProvider"],
                   "extra_options": {**{name: True for name in drop_in._WITHOUT_EFFECT}, "QuantizeBias": False, "Whatever": 1}}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            quantize_static("digits.onnx", "own.onnx", Reader(), **options)
            first = [str(warning.message) for warning in caught]
            quantize_static("digits.onnx", "own.onnx", Reader(), **options)
            again = [str(warning.message) for warning in caught][len(first):]
        for name in (*drop_in._WITHOUT_EFFECT, "QuantizeBias", "Whatever", "reduce_range", "use_external_data_format",
                     "calibration_providers"):
            self.assertEqual(sum(f"{name}" in text.split(":")[0].replace("'", " ").split() for text in first), 1, name)
        self.assertFalse([text for text in again if "has no effect" in text])

    def test_options_that_would_make_another_network_are_errors(self):
        for name in drop_in._UNSUPPORTED:
            with self.assertRaisesRegex(tare.UnsupportedError, name):
                quantize_static("digits.onnx", "own.onnx", Reader(), extra_options={name: {"x": 1}})
        for options in ({"activation_type": QuantType.QFLOAT8E4M3FN}, {"weight_type": QuantType.QInt16},
                        {"activation_type": QuantType.QInt4}, {"calibrate_method": CalibrationMethod.Distribution}):
            with self.assertRaises(tare.UnsupportedError):
                quantize_static("digits.onnx", "own.onnx", Reader(), **options)
        with self.assertRaises(tare.ConfigError):
            quantize_static("digits.onnx", "own.onnx", None)
        self.assertFalse(os.path.exists("own.onnx"))

    def test_an_exception_of_the_reader_is_that_of_the_call(self):
        class Fails(CalibrationDataReader):
            def get_next(self):
                raise OSError("no more")

        with self.assertRaisesRegex(OSError, "no more"):
            quantize_static("digits.onnx", "own.onnx", Fails())

    def test_every_option_is_in_the_table_of_the_guide(self):
        page = (support.ROOT / "docs/python.md").read_text()
        for name in (*drop_in._WITHOUT_EFFECT, *drop_in._UNSUPPORTED, *drop_in._TRANSLATED,
                     *inspect.signature(quantize_static).parameters, *inspect.signature(quantize_dynamic).parameters):
            self.assertIn(f"`{name}`", page)


class Others(support.InFolder):
    def test_dynamic_needs_no_samples(self):
        quantize_dynamic("digits.onnx", "own.onnx", weight_type=QuantType.QInt8)
        self.assertIn("DynamicQuantizeLinear", pathlib.Path("own.onnx").read_bytes().decode("latin1"))
        outputs = tare.run("own.onnx", {"image": support.images(4)})["logits"]
        expected = tare.run("digits.onnx", {"image": support.images(4)})["logits"]
        self.assertLess(abs(outputs - expected).max(), 0.1 * abs(expected).max())

    def test_dynamic_quantizes_nodes_that_are_named(self):
        gemm = next(entry["node"] for entry in tare.explain("digits.onnx")["operators"] if entry["op"] == "Gemm")
        quantize_dynamic("digits.onnx", "own.onnx", nodes_to_quantize=[gemm])
        self.assertIn(b"DynamicQuantizeLinear", pathlib.Path("own.onnx").read_bytes())

    def test_preparing_keeps_the_model(self):
        class Proto:
            def SerializeToString(self):
                return pathlib.Path("digits.onnx").read_bytes()

        for model in ("digits.onnx", pathlib.Path("digits.onnx"), Proto()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tare.TareWarning)
                quant_pre_process(model, "prepared.onnx", skip_symbolic_shape=True)
            self.assertEqual(pathlib.Path("prepared.onnx").read_bytes(), pathlib.Path("digits.onnx").read_bytes())
        with self.assertRaises(tare.ConfigError):
            quant_pre_process("digits.onnx")

    def test_enumerations_have_their_numbers(self):
        self.assertEqual([member.value for member in QuantType], list(range(7)))
        self.assertEqual(str(QuantFormat.QDQ), "QDQ")
        self.assertIs(QuantFormat.from_string("QDQ"), QuantFormat.QDQ)
        with self.assertRaises(ValueError):
            QuantType.from_string("QInt3")

    def test_signatures_are_theirs(self):
        try:
            from onnxruntime import quantization
        except ImportError:
            self.skipTest("no ONNX Runtime")
        for name in ("quantize_static", "quantize_dynamic", "quant_pre_process"):
            theirs = inspect.signature(getattr(quantization, name)).parameters
            ours = inspect.signature(getattr(drop_in, name)).parameters
            self.assertEqual(list(ours), list(theirs), name)
            for option, parameter in theirs.items():
                self.assertEqual(str(ours[option].default), str(parameter.default), (name, option))
        for name in ("QuantType", "QuantFormat", "QuantizationMode", "CalibrationMethod"):
            self.assertEqual([(member.name, member.value) for member in getattr(drop_in, name)],
                             [(member.name, member.value) for member in getattr(quantization, name)])
        quantize_static("digits.onnx", "own.onnx", Reader(), quantization.QuantFormat.QDQ, activation_type=quantization.QuantType.QUInt8,
                        calibrate_method=quantization.CalibrationMethod.MinMax)


if __name__ == "__main__":
    unittest.main()
