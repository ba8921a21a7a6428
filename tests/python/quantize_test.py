"""The package gives what the program gives, whatever samples, models and configurations come as."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import unittest
import warnings

import numpy

import support
import tare

SHARED = pathlib.Path(os.environ.get("TARE_SHARED", support.ROOT.parent / "shared"))
NETWORKS = (  # model, samples
    ("mlperftiny_kws_dscnn.onnx", "kws49x10_calib200_f32.h5"),
    ("resnet20_cifar10_op13.onnx", "cifar10_imagenetnorm_calib500_f32.h5"),
    ("resnet20_cifar10_op17_bn.onnx", "cifar10_imagenetnorm_calib500_f32.h5"),
    ("mobilenet_v1_0.75_224_imagenet.onnx", "imagenet224_calib64_u8.h5"),
    ("sst2_encoder2L_d96_op13.onnx", "sst2_calib500.h5"),
    ("sst2_encoder2L_d96_op17.onnx", "sst2_calib500.h5"),
    ("yolox_nano_416.onnx", "coco416_yolox_calib16_f32.h5"),
)


def read(path):
    return pathlib.Path(path).read_bytes()


class SameAsTheProgram(support.InFolder):
    def expect(self, result, *options):
        self.program("quantize", "digits.onnx", "--data", "digits_calibration.h5", "-o", "expected.onnx", *options)
        self.assertEqual(result.to_bytes(), read("expected.onnx"))

    def test_the_file_is_the_same(self):
        self.expect(tare.quantize("digits.onnx", "digits_calibration.h5", threads=1))

    def test_for_every_target(self):
        for target in tare.describe()["targets"]:
            with self.subTest(target=target["name"]):
                self.expect(tare.quantize("digits.onnx", "digits_calibration.h5", target=target["name"], effort="fast",
                                          evaluate=False), "--target", target["name"], "--effort", "fast")

    def test_with_a_holdout(self):
        result = tare.quantize("digits.onnx", "digits_calibration.h5", holdout=32)
        self.expect(result, "--holdout", "32")
        self.assertEqual(result.summary["quality"]["evaluated_on"], "held_out")

    def test_with_a_configuration_however_it_comes(self):
        pathlib.Path("own.yaml").write_text("activations: {calibrator: {name: percentile, percentile: 99.9}}\n"
                                            "layers: [{match: {op: Gemm}, keep_float: true}]\n")
        choice = {"name": "percentile", "percentile": 99.9}
        rule = tare.Layer(match=tare.Match(op="Gemm"), keep_float=True)
        configs = ("own.yaml", pathlib.Path("own.yaml"),
                   {"activations": {"calibrator": choice}, "layers": [{"match": {"op": "Gemm"}, "keep_float": True}]},
                   tare.Config(activations=tare.Activations(calibrator=choice), layers=[rule]))
        for config in configs:
            with self.subTest(config=type(config).__name__):
                self.expect(tare.quantize("digits.onnx", "digits_calibration.h5", config, evaluate=False), "--config", "own.yaml")

    def test_with_settings(self):
        for settings in ({"weights.bits": 4, "accuracy.bias_correction": False},
                         ["weights.bits=4", "accuracy.bias_correction=false"]):
            self.expect(tare.quantize("digits.onnx", "digits_calibration.h5", settings=settings, evaluate=False),
                        "--set", "weights.bits=4", "--set", "accuracy.bias_correction=false")

    def test_the_summary_says_what_the_program_says(self):
        said = json.loads(self.program("quantize", "digits.onnx", "--data", "digits_calibration.h5", "-o", "expected.onnx", "--json"))
        summary = tare.quantize("digits.onnx", "digits_calibration.h5").summary
        for field in ("target", "samples", "points", "wide_points", "operators", "quantized", "kept_float", "accumulators", "calibration"):
            self.assertEqual(summary[field], said[field], field)
        for field in ("verdict", "text", "samples", "evaluated_on", "sqnr", "exact", "agreement", "worst_layer"):
            self.assertEqual(summary["quality"][field], said["quality"][field], field)
        self.assertEqual(summary["predicted_speed"], said["quality"]["predicted_speed"])

    def test_forms_tables_and_statistics(self):
        for form in ("qdq", "qoperator", "integer"):
            self.program("quantize", "digits.onnx", "--data", "digits_calibration.h5", "-o", "expected.onnx", "--form", form,
                         "--table", "expected.yaml")
            result = tare.quantize("digits.onnx", "digits_calibration.h5", out="own.onnx", form=form)
            self.assertEqual(read("own.onnx"), read("expected.onnx"))
        self.assertEqual(result.save_table("own.yaml").read_bytes(), read("expected.yaml"))
        self.assertEqual(tare.quantize("digits.onnx", table="own.yaml").to_bytes("integer"), read("expected.onnx"))
        self.program("calibrate", "digits.onnx", "--data", "digits_calibration.h5", "-o", "expected.h5")
        stats = tare.calibrate("digits.onnx", "digits_calibration.h5", out="own.h5")
        self.assertEqual(read("own.h5"), read("expected.h5"))
        self.program("quantize", "digits.onnx", "--stats", "expected.h5", "-o", "expected.onnx")
        for given in (stats, "own.h5"):
            self.assertEqual(tare.quantize("digits.onnx", stats=given).to_bytes(), read("expected.onnx"))

    def test_reports(self):
        result = tare.quantize("digits.onnx", "digits_calibration.h5", out="own.onnx")
        self.program("compare", "digits.onnx", "own.onnx", "--data", "digits_evaluation.h5", "--report", "expected.json")
        expected = json.loads(read("expected.json"))
        for quantized in ("own.onnx", read("own.onnx"), result):
            report = tare.compare("digits.onnx", quantized, "digits_evaluation.h5")
            for field in ("outputs", "layers", "points", "top1", "verdict", "diagnosis"):
                self.assertEqual(report[field], expected[field], field)
        report.save("own.html")
        self.assertIn(b"<html", read("own.html"))
        self.assertIn("<table>", report._repr_html_())
        self.assertIn("SQNR", result._repr_html_())

    def test_evaluate_run_explain_and_inspect(self):
        said = json.loads(self.program("evaluate", "digits.onnx", "--data", "digits_evaluation.h5", "--json"))
        accuracy = tare.evaluate("digits.onnx", "digits_evaluation.h5")
        self.assertEqual((accuracy.value, accuracy.correct, accuracy.samples), (said["value"], said["correct"], said["samples"]))
        numpy.testing.assert_allclose(accuracy.interval95, said["interval95"], rtol=1e-12)
        outputs = tare.run("digits.onnx", "digits_evaluation.h5")
        one = tare.run("digits.onnx", "digits_evaluation.h5", samples=1, threads=1)
        self.assertEqual(list(outputs), ["logits"])
        numpy.testing.assert_array_equal(outputs["logits"][:1], one["logits"])
        explained = json.loads(self.program("explain", "digits.onnx", "--json"))
        for field, value in tare.explain("digits.onnx").items():
            self.assertEqual(value, explained[field], field)
        self.assertEqual(tare.inspect("digits.onnx", "prepared", full=True),
                         self.program("inspect", "digits.onnx", "--stage", "prepared", "--full"))

    def test_search(self):
        said = json.loads(self.program("search", "digits.onnx", "--data", "digits_calibration.h5", "-o", "expected.onnx",
                                       "--require", "output.sqnr>=25", "--json"))
        found = tare.search("digits.onnx", "digits_calibration.h5", "output.sqnr>=25", out="own.onnx")
        self.assertEqual((found.met, found.chosen), (said["met"], said["chosen"]))
        self.assertEqual([plan["keep_float"] for plan in found.curve], [plan["keep_float"] for plan in said["curve"]])
        self.assertEqual(read("own.onnx"), read("expected.onnx"))

    def test_search_within_a_budget(self):
        said = json.loads(self.program("search", "digits.onnx", "--data", "digits_calibration.h5", "--samples", "40",
                                       "-o", "expected.onnx", "--budget", "size=80%", "--budget", "bops=90%", "--json"))
        found = tare.search("digits.onnx", "digits_calibration.h5", budget=["size=80%", "bops=90%"], samples=40,
                            out="own.onnx")
        self.assertEqual(found.mix, said["mix"])
        self.assertEqual(found.curve[0]["sqnr"], said["curve"][0]["sqnr"])
        self.assertEqual(read("own.onnx"), read("expected.onnx"))
        self.assertEqual(found.mix["bytes"]["taken"], len(read("own.onnx")))
        with self.assertRaisesRegex(tare.ConfigError, "budget 'size=few'"):
            tare.search("digits.onnx", "digits_calibration.h5", budget="size=few")
        with self.assertRaisesRegex(tare.ConfigError, "beside a budget"):
            tare.search("digits.onnx", "digits_calibration.h5", budget="size=80%", time=5)

    def test_python_m_tare_is_the_program(self):
        said = subprocess.run([sys.executable, "-m", "tare", "--version"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(said, self.program("--version"))
        failed = subprocess.run([sys.executable, "-m", "tare", "nothing"], check=False, capture_output=True, text=True)
        self.assertEqual(failed.returncode, 2)


class Data(support.InFolder):
    def setUp(self):
        super().setUp()
        self.images = support.images(32)
        self.expected = self.quantized({"image": self.images})

    def quantized(self, data, **options):
        return tare.quantize("digits.onnx", data, evaluate=False, **options).to_bytes()

    def test_batches_of_any_kind(self):
        parts = [self.images[:5], self.images[5:20], self.images[20:]]

        class Tensor:  # of torch, as far as it is looked at
            def __init__(self, array):
                self.array = array

            def detach(self):
                return self

            def cpu(self):
                return self

            def __array__(self, dtype=None, copy=None):
                return self.array

        class Reader:  # of ONNX Runtime
            def __init__(self):
                self.left = [{"image": part} for part in parts]

            def get_next(self):
                return self.left.pop(0) if self.left else None

        kinds = {
            "a generator of dicts": ({"image": part} for part in parts),
            "a list of dicts": [{"image": part} for part in parts],
            "arrays alone": parts,
            "tuples with labels": [(part, numpy.zeros(len(part), "int64")) for part in parts],
            "tensors": [(Tensor(part), Tensor(numpy.zeros(len(part), "int64"))) for part in parts],
            "a reader": Reader(),
            "samples": tare.Samples({"image": self.images}),
            "lists of numbers": [{"image": numpy.asarray(part).tolist()} for part in ()] or {"image": self.images},
        }
        for name, data in kinds.items():
            with self.subTest(kind=name):
                self.assertEqual(self.quantized(data), self.expected)

    def test_arrays_in_any_layout(self):
        turned = numpy.asfortranarray(self.images)
        wide = numpy.zeros((32, 1, 16, 32), "float32")
        wide[..., ::2] = self.images
        swapped = self.images.astype(">f4")
        backwards = self.images[::-1].copy()[::-1]
        for array in (turned, wide[..., ::2], swapped, backwards):
            self.assertEqual(self.quantized({"image": array}), self.expected)

    def test_files_of_every_format_of_the_program(self):
        numpy.savez("named.npz", image=self.images)
        self.assertEqual(self.quantized("named.npz"), self.expected)
        os.mkdir("arrays")
        for i, image in enumerate(self.images):
            numpy.save(f"arrays/{i:02}.npy", image)
        self.assertEqual(self.quantized(pathlib.Path("arrays")), self.expected)
        numpy.savez("other.npz", pictures=self.images)
        with self.assertWarnsRegex(tare.TareWarning, "'pictures' is taken for the input 'image'"):
            self.assertEqual(self.quantized("other.npz"), self.expected)

    def test_files_are_prepared_as_the_configuration_says(self):
        os.mkdir("pictures")
        for i in range(8):
            levels = numpy.random.default_rng(i).integers(0, 256, (16, 16, 3), "uint8").tobytes()
            header = struct.pack("<2sIIIIiiHHIIiiII", b"BM", 54 + len(levels), 0, 54, 40, 16, 16, 1, 24, 0, 0, 0, 0, 0, 0)
            pathlib.Path(f"pictures/{i}.bmp").write_bytes(header + levels)
        config = {"inputs": {"image": {"color": "gray", "scale": "1/255", "mean": 0.0, "std": 1.0}}}
        made = tare.quantize("digits.onnx", "pictures", config, effort="fast", evaluate=False)
        self.program("quantize", "digits.onnx", "--data", "pictures", "-o", "program.onnx", "--effort", "fast", *[
            f"--set=inputs.image.{key}={value}" for key, value in config["inputs"]["image"].items()])
        self.assertEqual(made.to_bytes(), read("program.onnx"))

    def test_files_that_no_model_explains(self):
        numpy.save("array.npy", self.images)
        with self.assertRaisesRegex(tare.ConfigError, "array.npy: a .npy file for no model"):
            tare.Samples("array.npy")
        with self.assertRaisesRegex(tare.ConfigError, "takes states from it"):
            tare.Samples("digits_calibration.h5", config={"state": {"image": "logits"}})

    def test_models_as_bytes(self):
        model = read("digits.onnx")

        class Proto:
            def SerializeToString(self):
                return model

        for given in (model, bytearray(model), memoryview(model), Proto(), pathlib.Path("digits.onnx")):
            self.assertEqual(tare.quantize(given, {"image": self.images}, evaluate=False).to_bytes(), self.expected)

    def test_labels_count(self):
        labels = numpy.zeros((32, 1), "uint8")
        samples = tare.Samples({"image": self.images, "labels": labels})
        numpy.testing.assert_array_equal(samples.labels, numpy.zeros(32))
        self.assertEqual(tare.evaluate("digits.onnx", samples).samples, 32)
        self.assertIsNone(tare.Samples({"image": self.images}).labels)

    def test_memory_does_not_grow_with_a_generator(self):
        script = ("import numpy, resource, sys, tare\n"
                  "def batches(count):\n"
                  "    noise = numpy.random.default_rng(0)\n"
                  "    for _ in range(count):\n"
                  "        yield {'image': noise.random((64, 1, 16, 16)).astype('float32')}\n"
                  "samples = tare.Samples(batches(1))\n"
                  "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
                  "samples = tare.Samples(batches(2000))\n"
                  "print(len(samples), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n")
        said = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
        count, kibibytes = map(int, said.split())
        self.assertEqual(count, 128000)  # 131 MB of them
        self.assertLess(kibibytes, 8 << 10)  # buffers of 1 MiB, and what Python takes for itself

    @unittest.skipIf(os.environ.get("TARE_PRELOAD"), "a sanitizer keeps memory that was freed")
    def test_memory_of_quantizing_stays_within_its_bound(self):
        script = ("import numpy, resource, sys, tare, warnings\n"
                  "warnings.simplefilter('ignore')\n"
                  "def batches(count):\n"
                  "    noise = numpy.random.default_rng(0)\n"
                  "    for _ in range(count):\n"
                  "        yield {'image': noise.random((64, 1, 16, 16)).astype('float32')}\n"
                  "for count in (1, 100):\n"
                  "    result = tare.quantize('digits.onnx', batches(count), effort=sys.argv[1], evaluate=False,\n"
                  "                           settings={'calibration.memory': '4MiB'})\n"
                  "    print(result.summary['samples'], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n")
        for effort in ("fast", "default"):
            with self.subTest(effort=effort):
                said = subprocess.run([sys.executable, "-c", script, effort], check=True, capture_output=True, text=True).stdout
                (few, before), (many, after) = (map(int, line.split()) for line in said.splitlines())
                self.assertEqual((few, many), (64, 6400))
                self.assertLess(after - before, 16 << 10)  # KiB; the activations of all samples have 400 MB

    def test_parts_of_samples_are_a_whole(self):
        samples = tare.Samples({"image": self.images, "labels": numpy.arange(32)})
        some, others = samples.evenly_spaced(8).labels, samples.without_evenly_spaced(8).labels
        self.assertEqual((len(some), len(others)), (8, 24))
        self.assertEqual(sorted([*some, *others]), list(range(32)))


class Results(support.InFolder):
    def test_are_of_the_public_types(self):
        result = tare.quantize("digits.onnx", "digits_calibration.h5", effort="fast")
        self.assertIsInstance(result, tare.Result)
        self.assertIsInstance(result.report, tare.Report)
        self.assertIsInstance(result.table["image"], tare.Point)
        self.assertIsInstance(tare.calibrate("digits.onnx", "digits_calibration.h5", samples=8), tare.Statistics)
        self.assertIsInstance(tare.search("digits.onnx", "digits_calibration.h5", "output.sqnr>=20"), tare.Found)

    def test_the_worst_layers_come_first(self):
        report = tare.quantize("digits.onnx", "digits_calibration.h5", effort="fast").report
        worst = [layer["local"]["sqnr"] for layer in report.worst_layers(3)]
        self.assertEqual(worst, sorted(worst))
        self.assertEqual(worst[0], min(layer["local"]["sqnr"] for layer in report["layers"]
                                       if layer["local"] and layer["local"]["sqnr"] is not None))

    def test_errors_are_those_that_python_has_for_them(self):
        for kind, known in ((tare.ModelError, ValueError), (tare.UnsupportedError, NotImplementedError),
                            (tare.ConfigError, ValueError), (tare.DataError, ValueError), (tare.FileError, OSError),
                            (tare.InternalError, RuntimeError), (tare.OutOfMemoryError, MemoryError)):
            self.assertTrue(issubclass(kind, known) and issubclass(kind, tare.Error))


class Callbacks(support.InFolder):
    def test_a_calibrator_is_told_what_it_chooses_for(self):
        asked = []

        class Half(tare.Calibrator):
            def choose(self, histogram, spec):
                asked.append((spec, histogram))
                return histogram.low / 2, histogram.high / 2

        # The default schedule widens what was chosen, to avoid rounding ties.
        result = tare.quantize("digits.onnx", "digits_calibration.h5", {"activations": {"calibrator": Half()}},
                               effort="fast")
        for name, point in result.table.items():
            if point.calibrator.startswith("python_half"):
                (low, high), = point.observed
                self.assertEqual(point.calibrated, [(low / 2, high / 2)], name)
        self.assertTrue(all(isinstance(spec, tare.Spec) and isinstance(histogram, tare.Histogram) for spec, histogram in asked))
        specs = {spec.point: spec for spec, _ in asked}
        self.assertIn("image", specs)
        self.assertEqual((specs["image"].storage, specs["image"].storage_high), ("uint8", 255))
        for _, histogram in asked:
            self.assertEqual(int(histogram.bins.sum()) + histogram.zeros, histogram.count)

    def test_metrics_see_both_networks(self):
        def agreement(real, quantized, label):
            self.assertEqual(real[0].shape, (1, 10))
            self.assertIsInstance(label, int)
            return float(real[0].argmax() == quantized[0].argmax())

        result = tare.quantize("digits.onnx", "digits_calibration.h5", out="own.onnx")
        report = tare.compare("digits.onnx", "own.onnx", "digits_evaluation.h5",
                              metrics={"agreement": agreement, "nothing": lambda *_: None})
        self.assertAlmostEqual(report["metrics"]["agreement"], report["metrics"]["top1.agreement"] / 100
                               if report["metrics"].get("top1.agreement", 0) > 1 else report["metrics"]["top1.agreement"])
        self.assertIsNone(report["metrics"]["nothing"])
        self.assertTrue(result.summary["quality"])

    def test_progress_is_told(self):
        seen = []
        tare.quantize("digits.onnx", "digits_calibration.h5", progress=lambda *step: seen.append(step))
        self.assertEqual({activity for activity, _, _ in seen}, {"calibrating", "comparing"})
        self.assertTrue(all(0 <= done <= total for _, done, total in seen))

    def test_warnings_of_the_program_are_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tare.quantize("digits.onnx", {"image": support.images(2)}, evaluate=False)
        self.assertTrue(any("few" in str(warning.message) for warning in caught
                            if issubclass(warning.category, tare.TareWarning)), [str(w.message) for w in caught])


@unittest.skipUnless((SHARED / "models").is_dir(), "no shared models")
class SharedModels(support.InFolder):
    def test_give_the_file_of_the_program(self):
        for model, samples in NETWORKS:
            with self.subTest(model=model), warnings.catch_warnings():
                warnings.simplefilter("ignore", tare.TareWarning)
                path, data = str(SHARED / "models" / model), str(SHARED / "data" / samples)
                options = ("--samples", "8", "--effort", "fast")
                self.program("quantize", path, "--data", data, "-o", "expected.onnx", *options)
                result = tare.quantize(path, data, samples=8, effort="fast", evaluate=False)
                self.assertEqual(result.to_bytes(), read("expected.onnx"))


if __name__ == "__main__":
    unittest.main()
