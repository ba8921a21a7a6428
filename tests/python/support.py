"""What the tests of the Python package share: a folder with the network and the samples in data/, and the program."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ("digits.onnx", "digits_calibration.h5", "digits_evaluation.h5")


def images(count=32, seed=0):
    """[count, 1, 16, 16], float32, like those of the network."""
    return numpy.random.default_rng(seed).random((count, 1, 16, 16)).astype("float32")


class InFolder(unittest.TestCase):
    """Runs in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for name in FILES:
            shutil.copy(ROOT / "data" / name, name)

    def program(self, *words):
        """Runs `tare` and returns what it prints."""
        return subprocess.run([os.environ["TARE_PROGRAM"], *words], check=True, capture_output=True, text=True).stdout
