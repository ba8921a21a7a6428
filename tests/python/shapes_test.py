"""Samples of several shapes, such as sentences of their own length, are the same from Python as from files."""
import pathlib
import unittest

import numpy

import support
import tare
from onnx_file import constant, described, model, node

LENGTHS = (5, 1, 17, 9, 12, 3, 17, 8)
WIDTH = 8


def network():
    """x [N, length, 8] -> y [N, length, 4]: two layers."""
    random = numpy.random.default_rng(1)
    return model(nodes=[node("MatMul", ["x", "w1"], "hidden"), node("Relu", ["hidden"], "relu"),
                        node("MatMul", ["relu", "w2"], "y")],
                 constants=[constant("w1", random.standard_normal((WIDTH, 16))),
                            constant("w2", random.standard_normal((16, 4)))],
                 inputs=[described("x", "N", "length", WIDTH)], outputs=[described("y", "N", "length", 4)])


class SeveralShapes(support.InFolder):
    def setUp(self):
        super().setUp()
        pathlib.Path("model.onnx").write_bytes(network())
        random = numpy.random.default_rng(2)
        self.samples = [random.standard_normal((length, WIDTH)).astype("float32") for length in LENGTHS]

    def quantized(self, data):
        return tare.quantize("model.onnx", data, evaluate=False).to_bytes()

    def test_the_file_is_the_same_however_they_come(self):
        pathlib.Path("arrays").mkdir()
        for i, sample in enumerate(self.samples):
            numpy.savez(f"arrays/{i}.npz", x=sample[None])
        self.program("quantize", "model.onnx", "--data", "arrays", "-o", "expected.onnx")
        expected = pathlib.Path("expected.onnx").read_bytes()
        self.program("samples", "arrays", "--like", "model.onnx", "-o", "groups.h5")
        batches = [{"x": sample[None]} for sample in self.samples]
        for name, data in {"path": "arrays", "groups": "groups.h5", "lists": {"x": self.samples}, "batches": batches,
                           "objects": {"x": numpy.array([*self.samples, None], object)[:-1]},
                           "tuples": [(sample[None],) for sample in self.samples], "generator": iter(batches),
                           "strides": {"x": [numpy.asfortranarray(sample) for sample in self.samples]}}.items():
            with self.subTest(data=name):
                self.assertEqual(self.quantized(data), expected)

    def test_where_all_are_equal_lists_are_arrays(self):
        equal = numpy.stack([sample[:1] for sample in self.samples])
        expected = self.quantized({"x": equal})
        for data in ({"x": list(equal)}, [{"x": equal[:3]}, {"x": equal[3:3]}, {"x": equal[3:]}]):
            self.assertEqual(self.quantized(data), expected)

    def test_results_are_a_list_where_they_differ(self):
        results = tare.run("model.onnx", {"x": self.samples})["y"]
        self.assertEqual([result.shape for result in results], [(1, length, 4) for length in LENGTHS])
        for sample, result in zip(self.samples, results):
            numpy.testing.assert_array_equal(tare.run("model.onnx", {"x": sample[None]})["y"], result)

    def test_parts_reports_and_searches_take_them(self):
        data = tare.Samples({"x": self.samples * 4, "labels": numpy.arange(len(self.samples) * 4)})
        self.assertEqual(len(data.evenly_spaced(3)), 3)
        self.assertEqual(list(data.first(2).labels), [0, 1])
        result = tare.quantize("model.onnx", data, holdout=8, settings={"objective": "coverage"})
        self.assertEqual(result.summary["quality"]["evaluated_on"], "held_out")
        report = tare.compare("model.onnx", result, data)
        self.assertGreater(report["outputs"][0]["sqnr"], 20)
        self.assertTrue(tare.search("model.onnx", data, "output.sqnr>=20").met)


if __name__ == "__main__":
    unittest.main()
