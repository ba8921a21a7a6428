"""The examples in the docstrings run, and every public name has words about it."""
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re
import unittest
import warnings

import support
import tare


def modules():
    return [tare] + [importlib.import_module(f"tare.{entry.name}") for entry in pkgutil.iter_modules(tare.__path__)
                     if entry.name != "__main__"]


class Docstrings(support.InFolder):
    def test_examples_run(self):
        tried = 0
        for module in modules():
            with self.subTest(module=module.__name__), warnings.catch_warnings():
                warnings.simplefilter("ignore", tare.TareWarning)
                result = doctest.testmod(module)
                self.assertEqual(result.failed, 0)
                tried += result.attempted
        self.assertGreater(tried, 30)

    def test_every_public_name_is_documented(self):
        for module in (tare, importlib.import_module("tare.onnxruntime")):
            for name in module.__all__:
                value = getattr(module, name)
                with self.subTest(name=name):
                    self.assertTrue(inspect.getdoc(value))
                    if inspect.isclass(value):
                        for method, function in vars(value).items():
                            if callable(function) and not method.startswith("_"):
                                self.assertTrue(inspect.getdoc(getattr(value, method)), method)

    def test_every_public_name_is_in_an_example_or_a_test(self):
        words = set()
        for file in pathlib.Path(__file__).parent.glob("*_test.py"):
            words |= set(re.findall(r"\w+", file.read_text()))
        for module in modules():
            for line in inspect.getsource(module).splitlines():
                if line.lstrip().startswith((">>>", "...")):
                    words |= set(re.findall(r"\w+", line))
        missing = []
        for module in (tare, importlib.import_module("tare.onnxruntime")):
            for name in module.__all__:
                value = getattr(module, name)
                members = [member for member, entry in vars(value).items() if not member.startswith("_")
                           and (inspect.isfunction(entry) or isinstance(entry, property))] if inspect.isclass(value) else []
                missing += [f"{name}: {word}" for word in (name, *members) if word not in words]
        self.assertEqual(missing, [])

    def test_every_function_has_an_example(self):
        for name in tare.__all__:
            if inspect.isfunction(getattr(tare, name)):
                self.assertIn(">>>", getattr(tare, name).__doc__, name)

    def test_the_configuration_has_every_key_of_the_library(self):
        for key in tare.describe()["config"]:
            place = tare.Config
            parts = key["path"].replace("[]", "").split(".")
            if key["path"] == "inputs.NAME":  # the map itself
                continue
            for part in parts[:-1]:
                if part == "NAME":
                    continue
                place = {"activations": tare.Activations, "inputs": tare.Activations if "layers" in parts else tare.Input,
                         "weights": tare.Weights, "calibration": tare.Calibration, "accuracy": tare.AccuracyOptions,
                         "requantize": tare.Requantize, "accumulator": tare.Accumulator, "layers": tare.Layer,
                         "match": tare.Match}.get(part)
                if part == "dims" or place is None:
                    break
            else:
                with self.subTest(key=key["path"]):
                    self.assertIn(parts[-1], place.__dataclass_fields__)
                    if not key["values"].startswith("a map") and "layers" not in key["path"]:
                        words = " ".join(place.__doc__.split())
                        self.assertIn(" ".join(key["summary"].split()), words)


if __name__ == "__main__":
    unittest.main()
