"""States that a configuration names flow back, whatever the samples come as."""
import pathlib
import unittest

import numpy

import support
import tare
from onnx_file import constant, described, model, node

WIDTH = 16
STEPS = 64
CONFIG = {"state": {"h": "next"}, "steps": 16, "objective": "coverage"}


def network():
    """x and h [1, 16] -> y and next [1, 16], a recurrent layer and one on top."""
    random = numpy.random.default_rng(1)
    return model(nodes=[node("MatMul", ["x", "w"], "wx"), node("MatMul", ["h", "u"], "uh"), node("Add", ["wx", "uh"], "sum"),
                        node("Relu", ["sum"], "next"), node("MatMul", ["next", "v"], "y")],
                 constants=[constant(name, random.standard_normal((WIDTH, WIDTH)) / 4) for name in ("w", "u", "v")],
                 inputs=[described("x", 1, WIDTH), described("h", 1, WIDTH)],
                 outputs=[described("y", 1, WIDTH), described("next", 1, WIDTH)])


class States(support.InFolder):
    def setUp(self):
        super().setUp()
        pathlib.Path("model.onnx").write_bytes(network())
        self.steps = numpy.random.default_rng(2).standard_normal((STEPS, WIDTH)).astype("float32")
        numpy.savez("steps.npz", x=self.steps)
        pathlib.Path("own.yaml").write_text("state: {h: next}\nsteps: 16\nobjective: coverage\n")
        self.kinds = {"file": "steps.npz", "arrays": {"x": self.steps}, "list": [{"x": step[None]} for step in self.steps],
                      "generator": ({"x": step[None]} for step in self.steps), "samples": tare.Samples({"x": self.steps}),
                      "samples that have them": tare.Samples({"x": self.steps}, "model.onnx", CONFIG)}

    def test_the_file_is_that_of_the_program(self):
        self.program("quantize", "model.onnx", "--data", "steps.npz", "--config", "own.yaml", "-o", "expected.onnx")
        expected = pathlib.Path("expected.onnx").read_bytes()
        for kind, data in self.kinds.items():
            with self.subTest(kind=kind):
                self.assertEqual(tare.quantize("model.onnx", data, CONFIG, evaluate=False).to_bytes(), expected)

    def test_steps_give_what_a_loop_over_them_gives(self):
        results = tare.run("model.onnx", {"x": self.steps}, CONFIG)
        state = numpy.zeros((1, WIDTH), "float32")
        for i, step in enumerate(self.steps):
            if i % CONFIG["steps"] == 0:
                state = numpy.zeros_like(state)
            one = tare.run("model.onnx", {"x": step[None], "h": state})
            numpy.testing.assert_array_equal(results["y"][i], one["y"])
            state = one["next"]

    def test_the_first_step_of_a_sequence_begins_with_what_is_given(self):
        given = numpy.ones((STEPS, WIDTH), "float32")
        results = tare.run("model.onnx", {"x": self.steps, "h": given}, CONFIG)["y"]
        numpy.testing.assert_array_equal(results[0], tare.run("model.onnx", {"x": self.steps[:1], "h": given[:1]})["y"])
        without = tare.run("model.onnx", {"x": self.steps}, CONFIG)["y"]
        self.assertTrue((results[::16] != without[::16]).any())

    def test_parts_keep_the_states_of_the_whole(self):
        whole = tare.Samples({"x": self.steps}, "model.onnx", CONFIG)
        expected = tare.run("model.onnx", {"x": self.steps}, CONFIG)["y"]
        part = tare.run("model.onnx", whole.evenly_spaced(4), CONFIG)["y"]
        numpy.testing.assert_array_equal(part, expected[8::16])

    def test_every_function_takes_them(self):
        data = {"x": self.steps}
        result = tare.quantize("model.onnx", data, CONFIG, out="own.onnx", holdout=16)
        self.assertEqual(result.summary["quality"]["evaluated_on"], "held_out")
        report = tare.compare("model.onnx", "own.onnx", data, CONFIG)
        expected = tare.compare("model.onnx", "own.onnx", "steps.npz", CONFIG)
        self.assertEqual(report["outputs"], expected["outputs"])
        self.assertEqual(tare.calibrate("model.onnx", data, CONFIG).samples, STEPS)
        self.assertTrue(tare.search("model.onnx", data, "output.sqnr>=10", CONFIG).met)
        self.assertIn("next", tare.inspect("model.onnx", "integer", data, CONFIG))
        self.assertTrue(tare.explain("model.onnx", CONFIG, data=data)["operators"])
        labels = numpy.argmax(tare.run("model.onnx", data, CONFIG)["y"], axis=-1)
        accuracy = tare.evaluate("model.onnx", {**data, "labels": labels}, CONFIG)
        self.assertEqual((accuracy.correct, accuracy.samples), (STEPS, STEPS))

    def test_what_is_wrong_is_said(self):
        with self.assertRaisesRegex(tare.ConfigError, "the model has no output 'nxt'"):
            tare.quantize("model.onnx", {"x": self.steps}, {"state": {"h": "nxt"}})
        with self.assertRaisesRegex(tare.ConfigError, "takes states from it"):
            tare.Samples({"x": self.steps}, config=CONFIG)
        with self.assertRaisesRegex(tare.DataError, "'x'"):
            tare.quantize("model.onnx", {"y": self.steps}, CONFIG)


if __name__ == "__main__":
    unittest.main()
