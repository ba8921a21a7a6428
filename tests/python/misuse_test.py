"""What goes wrong is an exception with the words of the program: nothing crashes, hangs, or is left behind."""
import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from unittest import mock

import numpy

import support
import tare
from tare._library import library


class Misuse(support.InFolder):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.temporary = folder.name
        for home in (mock.patch.dict(os.environ, TMPDIR=folder.name), mock.patch("tempfile.tempdir", None)):
            home.start()
            self.addCleanup(home.stop)
        self.images = support.images()

    def refused(self, kind, words, data=None, model="digits.onnx", **options):
        """What is said of it."""
        with self.assertRaises(kind) as caught:
            tare.quantize(model, {"image": self.images} if data is None else data, **options)
        for word in (words,) if isinstance(words, str) else words:
            self.assertIn(word, str(caught.exception))
        return str(caught.exception)

    # Samples

    def test_01_wrong_dtype(self):
        self.refused(tare.DataError, ("f64", "f32"), {"image": self.images.astype("float64")})

    def test_02_wrong_shape(self):
        self.refused(tare.DataError, ("[1,8,9]", "expected [1,16,16]"), {"image": numpy.zeros((4, 1, 8, 9), "float32")})

    def test_03_wrong_name(self):
        self.refused(tare.DataError, ("input 'image'", "found: 'picture'"), {"picture": self.images})

    def test_04_not_a_number(self):
        self.images[3, 0, 1, 2] = numpy.nan
        self.refused(tare.DataError, "NaN at sample 3, [0,1,2]")

    def test_05_an_exhausted_iterator(self):
        batches = iter([{"image": self.images}])
        next(batches)
        self.refused(tare.DataError, "samples: there are none", batches)

    def test_06_no_samples(self):
        self.refused(tare.DataError, "there are none", {"image": self.images[:0]})

    def test_07_no_inputs(self):
        self.refused(tare.DataError, "hold no inputs", {})

    def test_08_an_exception_in_the_generator(self):
        def batches():
            yield {"image": self.images}
            raise ZeroDivisionError("in the middle")

        self.refused(ZeroDivisionError, "in the middle", batches())

    def test_09_batches_that_differ(self):
        # Which one of the second batch is read first is not promised.
        with self.assertRaisesRegex(tare.DataError,
                                    r"sample (3[2-9]|[45]\d|6[0-3]) has shape \[1,16,4\], expected \[1,16,16\]"):
            tare.quantize("digits.onnx", [{"image": self.images}, {"image": self.images[..., :4]}])
        self.refused(tare.DataError, ("samples from 32 on", "is f32[16,16]", "expected f32[1,16,16]"),
                     [{"image": self.images}, {"image": self.images[:, 0]}])

    def test_09_lists_whose_samples_differ(self):
        self.refused(tare.DataError, ("sample 1 has shape [1,8,16]", "expected [1,16,16]"),
                     {"image": [self.images[0], self.images[0][:, :8], *self.images]})
        self.refused(tare.DataError, "input 'mask': holds 3 samples, expected 2 as in 'image'",
                     {"image": [self.images[0], self.images[0][:, :8]], "mask": self.images[:3]})
        self.refused(tare.DataError, "input 'mask' is not in those before", [{"image": self.images}, {"mask": self.images}])

    def test_10_an_input_that_comes_and_goes(self):
        self.refused(tare.DataError, "is not in those before", [{"image": self.images}, {"image": self.images, "mask": self.images}])

    def test_11_counts_that_differ(self):
        self.refused(tare.DataError, "holds 4 samples", {"image": self.images, "mask": self.images[:4]})

    def test_12_objects_and_texts(self):
        for array in (numpy.array(["a", "b"]), numpy.array([object()]), numpy.zeros(2, "complex64")):
            self.refused(tare.DataError, "expected numbers", {"image": array})

    def test_13_a_scalar(self):
        self.refused(tare.DataError, "is a scalar", {"image": numpy.float32(1)})

    def test_14_too_many_arrays_in_a_batch(self):
        self.refused(tare.DataError, "a batch of 3 arrays", [(self.images, self.images, self.images)])

    def test_15_something_else(self):
        self.refused(TypeError, "samples are", 5)
        self.refused(TypeError, "a model is", model=5)
        self.refused(TypeError, "a configuration is", config=5)

    def test_16_labels_that_are_none(self):
        samples = tare.Samples({"image": self.images, "labels": numpy.zeros((32, 2), "float32")})
        with self.assertRaisesRegex(tare.DataError, "expected one integer for each sample"):
            tare.evaluate("digits.onnx", samples)
        with self.assertRaisesRegex(tare.DataError, "hold no labels"):
            tare.evaluate("digits.onnx", {"image": self.images})

    # Files

    def test_17_files_that_are_missing(self):
        said = self.refused(tare.FileError, "while quantizing 'missing.onnx'", model="missing.onnx")
        program = subprocess.run([os.environ["TARE_PROGRAM"], "quantize", "missing.onnx", "--data", "digits_calibration.h5", "-o",
                                  "never.onnx"], check=False, capture_output=True, text=True).stderr
        self.assertIn(said.splitlines()[0], program)
        self.refused(OSError, "missing.h5", "missing.h5")

    def test_18_files_that_are_something_else(self):
        pathlib.Path("text.onnx").write_text("no model")
        self.refused(tare.ModelError, "text.onnx: is not an ONNX model", model="text.onnx")
        self.refused(tare.ModelError, "model: is not an ONNX model", model=b"no model")
        self.refused(tare.ModelError, "model: is not an ONNX model", model=b"")
        pathlib.Path("text.h5").write_text("no samples")
        self.refused(tare.Error, "text.h5", "text.h5")

    def test_19_an_output_that_is_the_input(self):
        before = pathlib.Path("digits.onnx").read_bytes()
        os.symlink("digits.onnx", "link.onnx")
        for out in ("digits.onnx", "link.onnx"):
            self.refused(tare.FileError, "is the same file as the input", out=out)
        self.assertEqual(pathlib.Path("digits.onnx").read_bytes(), before)

    def test_20_an_output_that_cannot_be_written(self):
        self.refused(tare.FileError, "nowhere", out="nowhere/model.onnx")
        self.refused(tare.FileError, "0 byte", out="a\0b.onnx")
        self.assertEqual([name for name in os.listdir() if name not in support.FILES], [])

    # Options

    def test_21_all_that_is_wrong_with_a_configuration_at_once(self):
        said = self.refused(tare.ConfigError, ("did you mean", "'weigths'"),
                            config={"weigths": {}, "activations": {"calibrator": "mean"}})
        self.assertIn("mean", said)

    def test_22_words_that_are_none(self):
        self.refused(tare.ConfigError, "nothing", target="nothing")
        self.refused(tare.ConfigError, "slow", effort="slow")
        self.refused(tare.ConfigError, "expected qdq, qoperator or integer", out="own.onnx", form="none")
        self.refused(tare.ConfigError, "is not a setting", settings=["weights.bits"])
        with self.assertRaisesRegex(tare.ConfigError, "stage 'nothing'"):
            tare.inspect("digits.onnx", "nothing")
        with self.assertRaises(tare.ConfigError):
            tare.search("digits.onnx", {"image": self.images}, "output.sqrn>=30")

    def test_23_holdouts(self):
        self.refused(tare.ConfigError, "leaves nothing to calibrate on", holdout=32)
        self.refused(tare.ConfigError, "holdout contradicts eval_data", holdout=2, eval_data={"image": self.images})

    def test_24_no_samples_where_some_are_needed(self):
        with self.assertRaises(tare.ConfigError):
            tare.quantize("digits.onnx")
        with self.assertRaises(ValueError):
            tare.quantize("digits.onnx", config={"activations": "dynamic"}).report
        with self.assertRaises(tare.ConfigError):
            tare.merge()

    def test_25_plug_ins(self):
        self.refused(tare.ConfigError, "plugins: are not loaded by the library", config={"plugins": ["own.so"]})

    # Callbacks

    def test_26_a_calibrator_that_raises(self):
        class Raises:
            def choose(self, histogram, spec):
                raise KeyError("no such point")

        class NoRange:
            def choose(self, histogram, spec):
                return None

        class Reversed:
            def choose(self, histogram, spec):
                return 1.0, 0.0

        class Endless:
            def choose(self, histogram, spec):
                return float("nan"), float("inf")

        self.refused(KeyError, "no such point", config={"activations": {"calibrator": Raises()}})
        self.refused(TypeError, "", config={"activations": {"calibrator": NoRange()}})
        self.refused(tare.ConfigError, "expected two finite numbers", config={"activations": {"calibrator": Reversed()}})
        self.refused(tare.ConfigError, "expected two finite numbers", config={"weights": {"calibrator": Endless()}})

    def test_27_a_metric_that_raises(self):
        def raises(real, quantized, label):
            raise RuntimeError("no number")

        tare.quantize("digits.onnx", {"image": self.images}, out="own.onnx", evaluate=False)
        for metric, kind in ((raises, RuntimeError), (lambda *_: "many", ValueError)):
            with self.assertRaises(kind):
                tare.compare("digits.onnx", "own.onnx", {"image": self.images}, metrics={"own": metric})

    def test_28_progress_that_raises(self):
        def raises(activity, done, total):
            raise LookupError("no terminal")

        self.refused(LookupError, "no terminal", progress=raises)

    def test_29_arrays_of_the_library_cannot_be_written(self):
        def writes(real, quantized, label):
            real[0][...] = 0
            return 0.0

        tare.quantize("digits.onnx", {"image": self.images}, out="own.onnx", evaluate=False)
        with self.assertRaisesRegex(ValueError, "read-only"):
            tare.compare("digits.onnx", "own.onnx", {"image": self.images}, metrics={"own": writes})

    # Processes and threads

    def test_30_a_fork(self):
        tare.describe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks of processes with threads
            child = os.fork()
        if child == 0:
            status = 1
            try:
                tare.describe()
            except tare.UnsupportedError:
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_31_many_threads_at_once(self):
        expected = tare.quantize("digits.onnx", {"image": self.images}, evaluate=False).to_bytes()
        results = []

        def work():
            results.append(tare.quantize("digits.onnx", {"image": self.images}, evaluate=False, threads=1).to_bytes())

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [expected] * 6)

    def test_32_interrupts_at_any_moment(self):
        """SIGINT after more and more milliseconds, until the work is over before it."""
        script = ("import numpy, signal, sys, tare\n"
                  "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # else ignored in a job in the background
                  "images = numpy.random.default_rng(0).random((512, 1, 16, 16)).astype('float32')\n"
                  "tare.describe()\n"
                  "print('ready', flush=True)\n"
                  "try:\n"
                  "    tare.quantize('digits.onnx', ({'image': images[i:i + 8]} for i in range(0, 512, 8)), out='own.onnx')\n"
                  "    print('done', flush=True)\n"
                  "except KeyboardInterrupt:\n"
                  "    print('interrupted', flush=True)\n")
        said = []
        for delay in (0, 1, 3, 7, 15, 30, 60, 120, 250, 500, 1000, 8000):
            child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(child.stdout.readline(), "ready\n")
            try:
                child.wait(delay / 1000)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGINT)
            out, error = child.communicate(timeout=60)
            # Before and behind the `try` the interpreter ends by itself.
            self.assertIn(child.returncode, (0, 1, -signal.SIGINT), error)
            said.append(out.strip())
            self.assertEqual([name for name in os.listdir() if "onnx" in name and name not in ("digits.onnx", "own.onnx")], [])
        self.assertIn("interrupted", said)
        self.assertEqual(said[-1], "done")

    def test_39_what_was_made_is_freed_where_an_interrupt_comes_first(self):
        """As soon as the library has returned, before Python has kept what it made."""
        def interrupted(function):
            def call(*arguments):
                function(*arguments)
                raise KeyboardInterrupt
            return call

        for made, free in (("tare_model_open", "tare_model_free"), ("tare_model_describe", "tare_free"),
                           ("tare_samples_of_pieces", "tare_samples_free"), ("tare_samples_part", "tare_samples_free")):
            freed = []
            release = getattr(library, free)
            held = tare.Samples({"image": self.images})

            def counted(address):
                freed.append(address)
                release(address)

            with self.subTest(made=made), mock.patch.object(library, made, interrupted(getattr(library, made))), \
                    mock.patch.object(library, free, counted):
                with self.assertRaises(KeyboardInterrupt):
                    if made == "tare_samples_part":
                        held.first(3)
                    else:
                        tare.Samples([{"image": self.images}], "digits.onnx")
                gc.collect()
                self.assertEqual(len(freed), 1)

    def test_35_handlers_of_other_signals(self):
        def too_late(_number, _frame):
            raise TimeoutError

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, too_late))
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with self.assertRaises(TimeoutError):
            tare.quantize("digits.onnx", {"image": support.images(2000)})
        self.assertEqual([thread.name for thread in threading.enumerate() if thread.name.startswith("tare_")], [])

    def test_36_a_signal_while_the_work_begins(self):
        def too_late(_number, _frame):
            raise TimeoutError

        before = signal.getsignal(signal.SIGINT)
        begin = threading.Thread.start

        def interrupted(thread):
            begin(thread)
            if thread.name.startswith("tare_quantize"):
                signal.raise_signal(signal.SIGALRM)

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, too_late))
        with mock.patch.object(threading.Thread, "start", interrupted):
            with self.assertRaises(TimeoutError):
                tare.quantize("digits.onnx", {"image": support.images(2000)})
        self.assertEqual([thread.name for thread in threading.enumerate() if thread.name.startswith("tare_")], [])
        self.assertIs(signal.getsignal(signal.SIGALRM), too_late)
        self.assertIs(signal.getsignal(signal.SIGINT), before)

    def test_37_a_handler_that_puts_another_in_its_place(self):
        def once(_number, _frame):
            signal.signal(signal.SIGALRM, signal.SIG_IGN)

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, once))
        begin = threading.Thread.start

        def interrupted(thread):
            begin(thread)
            signal.raise_signal(signal.SIGALRM)

        with mock.patch.object(threading.Thread, "start", interrupted):
            tare.quantize("digits.onnx", {"image": self.images}, evaluate=False)
        self.assertEqual(signal.getsignal(signal.SIGALRM), signal.SIG_IGN)

    def test_33_results_outlive_what_they_were_made_of(self):
        samples = tare.Samples({"image": self.images.copy()})
        config = {"activations": {"calibrator": type("Own", (), {"choose": lambda self, seen, spec: (seen.low, seen.high)})()}}
        result = tare.quantize("digits.onnx", samples, config)
        del samples, config
        gc.collect()
        self.assertEqual(result.report["data"]["samples"], 32)
        del result
        gc.collect()

    def test_34_nothing_leaks(self):
        def grown(count):
            """KiB that the process has more, after so many calls."""
            for _ in range(count):
                tare.quantize("digits.onnx", {"image": self.images}, effort="fast", evaluate=False)
                with self.assertRaises(tare.ModelError):
                    tare.quantize(b"no model", {"image": self.images})
            gc.collect()
            return int(next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines()
                            if line.startswith("VmRSS")).split()[1])

        grown(30)
        before = grown(1)
        # One quantized network of this size takes about 1 MB, so 60 kept ones would show.
        self.assertLess(grown(60) - before, 20 << 10)
        self.assertEqual(os.listdir(self.temporary), [])


if __name__ == "__main__":
    unittest.main()
