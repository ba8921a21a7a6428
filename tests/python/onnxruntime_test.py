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
from onnx_file import described, model, node

try:
    import onnx
    import onnx.reference  # before onnxruntime: Debian's registers the operators of onnx a second time
    import onnxruntime
    from onnxruntime import quantization as theirs
except ImportError:
    theirs = None


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
        effort = options.get("extra_options", {}).get("effort", "fast")
        self.assertEqual(self.quantized(**options), tare.quantize(
            "digits.onnx", {"image": support.images(32)}, config, effort=effort, evaluate=False).to_bytes())

    def test_the_options_are_those_of_the_configuration(self):
        plain = {"activations": {"storage": "int8", "calibrator": "max"},
                 "weights": {"storage": "int8", "granularity": "per_axis"}}

        def with_(**more):
            return {key: {**plain.get(key, {}), **more.get(key, {})} for key in {*plain, *more}}

        self.same_as(plain)
        self.same_as(plain, per_channel=True)
        self.same_as(with_(weights={"granularity": "per_tensor"}), per_channel=False)
        self.same_as(with_(activations={"storage": "uint8"}), activation_type=QuantType.QUInt8)
        self.same_as(with_(activations={"calibrator": "kl"}), calibrate_method=CalibrationMethod.Entropy)
        self.same_as(with_(activations={"calibrator": {"name": "percentile", "percentile": 99.9}}),
                     calibrate_method=CalibrationMethod.Percentile, extra_options={"CalibPercentile": 99.9})
        self.same_as(with_(activations={"symmetric": True}), extra_options={"ActivationSymmetric": True})
        self.same_as(with_(activations={"calibrator": "average_max"}), extra_options={"CalibMovingAverage": True})
        self.same_as(with_(weights={"bits": 4, "symmetric": True}), weight_type=QuantType.QInt4)
        self.same_as(plain, extra_options={"effort": "default"})

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

    def test_a_scale_for_each_channel_is_said_where_nobody_asked_for_it(self):
        with self.assertWarnsRegex(tare.TareWarning, "per_channel: is not given"):
            quantize_static("digits.onnx", "own.onnx", Reader())
        for per_channel in (False, True):
            drop_in._said.clear()
            with warnings.catch_warnings():
                warnings.filterwarnings("error", "per_channel", tare.TareWarning)
                quantize_static("digits.onnx", "own.onnx", Reader(), per_channel=per_channel)

    def test_a_model_that_stays_in_float_is_said(self):
        pathlib.Path("tanh.onnx").write_bytes(model([node("Tanh", ["x"], "y")], [], [described("x", 1, 3)], [described("y", 1, 3)]))
        samples = numpy.random.rand(32, 1, 3).astype("float32")
        with self.assertWarnsRegex(tare.TareWarning, r"nothing runs on integers, such as y \(Tanh\): .*objective=coverage"):
            quantize_static("tanh.onnx", "own.onnx", ({"x": sample} for sample in samples), per_channel=True)

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


@unittest.skipUnless(theirs, "no ONNX Runtime")
class BesideTheirs(support.InFolder):
    """With ONNX Runtime and onnx installed."""

    def setUp(self):
        super().setUp()
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__)
        warnings.simplefilter("ignore", tare.TareWarning)
        self.images = support.images(32)

    def results(self, model):
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        return numpy.concatenate([session.run(None, {"image": image[None]})[0] for image in self.images])

    def sqnr(self, model):
        expected, error = self.results("digits.onnx"), self.results("digits.onnx") - self.results(model)
        return 10 * numpy.log10((expected ** 2).sum() / (error ** 2).sum())

    def test_signatures_are_theirs(self):
        for name in ("quantize_static", "quantize_dynamic", "quant_pre_process"):
            parameters = inspect.signature(getattr(theirs, name)).parameters
            ours = inspect.signature(getattr(drop_in, name)).parameters
            self.assertEqual(list(ours), list(parameters), name)
            for option, parameter in parameters.items():
                # Whether it was given decides.
                expected = "None" if option == "per_channel" else str(parameter.default)
                self.assertEqual(str(ours[option].default), expected, (name, option))
        for name in ("QuantType", "QuantFormat", "QuantizationMode", "CalibrationMethod"):
            self.assertEqual([(member.name, member.value) for member in getattr(drop_in, name)],
                             [(member.name, member.value) for member in getattr(theirs, name)])

    def test_their_classes_do_as_well(self):
        class TheirReader(theirs.CalibrationDataReader):
            def __init__(self):
                self.left = list(support.images(32))

            def get_next(self):
                return {"image": self.left.pop(0)[None]} if self.left else None

        quantize_static("digits.onnx", "own.onnx", TheirReader(), theirs.QuantFormat.QDQ,
                        activation_type=theirs.QuantType.QUInt8, calibrate_method=theirs.CalibrationMethod.MinMax)
        quantize_static("digits.onnx", "expected.onnx", Reader(), activation_type=QuantType.QUInt8)
        self.assertEqual(pathlib.Path("own.onnx").read_bytes(), pathlib.Path("expected.onnx").read_bytes())

    def test_our_reader_is_one_of_theirs(self):
        self.assertIsInstance(Reader(), theirs.CalibrationDataReader)
        theirs.quantize_static("digits.onnx", "theirs.onnx", Reader())
        self.assertTrue(pathlib.Path("theirs.onnx").exists())

    def test_results_are_at_least_as_close_to_float(self):
        for form in ("QDQ", "QOperator"):
            for per_channel in (False, True):
                with self.subTest(form=form, per_channel=per_channel):
                    options = {"per_channel": per_channel, "activation_type": theirs.QuantType.QUInt8}
                    quantize_static("digits.onnx", "own.onnx", Reader(), quant_format=QuantFormat[form], **options)
                    theirs.quantize_static("digits.onnx", "theirs.onnx", Reader(), quant_format=theirs.QuantFormat[form],
                                           **options)
                    self.assertGreaterEqual(self.sqnr("own.onnx"), self.sqnr("theirs.onnx"))

    def test_messages_of_onnx_are_models(self):
        result = tare.quantize(onnx.load("digits.onnx"), {"image": self.images}, evaluate=False)
        self.assertEqual(result.to_bytes(), tare.quantize("digits.onnx", {"image": self.images}, evaluate=False).to_bytes())
        onnx.checker.check_model(result.to_onnx(), full_check=True)

    def test_nodes_say_what_reports_say(self):
        result = tare.quantize("digits.onnx", {"image": self.images}, out="own.onnx")
        report = result.report
        report.annotate("own.onnx", "shown.onnx")
        nodes = {node.name: {entry.key: entry.value for entry in node.metadata_props}
                 for node in onnx.load("shown.onnx").graph.node}
        for layer in report["layers"]:
            self.assertIn("tare.sqnr.local", nodes[layer["name"]])
        numpy.testing.assert_array_equal(self.results("shown.onnx"), self.results("own.onnx"))


if __name__ == "__main__":
    unittest.main()
