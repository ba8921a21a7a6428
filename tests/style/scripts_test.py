"""Runs scripts that install or compare things, with programs in place of apt-get, npm and tare that do next to nothing.

usage: scripts_test.py ROOT
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop()).resolve()


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.calls = self.folder / "calls"

    def program(self, name, status):
        """A program that ends with that status; what it was asked for is in calls."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\necho {name} "$@" >>"{self.calls}"\nexit {status}\n')
        path.chmod(0o755)
        return path

    def run_script(self, name, *arguments):
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return subprocess.run([ROOT / name, *arguments], env={**os.environ, "PATH": path}, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    def installed(self, *options):
        """Packages that a machine without any gets."""
        self.program("dpkg-query", 1)
        self.program("sudo", 0)
        self.program("env", 0)
        self.program("apt-get", 0)
        self.calls.write_text("")
        self.run_script("scripts/install_dependencies.sh", *options)
        return [word for line in self.calls.read_text().splitlines() if " install " in line
                for word in line.split()]

    def test_packages_are_made_with_what_says_what_they_depend_on(self):
        needed = {"file", "dpkg-dev"}
        self.assertLessEqual(needed, set(self.installed("--package")))
        self.assertTrue(needed.isdisjoint(self.installed()))
        self.assertIn("scripts/install_dependencies.sh --package", (ROOT / "scripts/package.sh").read_text())

    def test_without_a_network_npm_is_asked_once(self):
        npm = self.program("npm", 1)
        work = self.folder / "work"
        work.mkdir()
        for _ in range(3):
            self.assertEqual(self.run_script("tests/install_npm_packages.sh", npm, work), 1)
        self.assertEqual(len(self.calls.read_text().splitlines()), 1)
        self.assertIn("--fetch-timeout", self.calls.read_text())

    def test_npm_packages_are_installed_once(self):
        npm = self.program("npm", 0)
        work = self.folder / "work"
        work.mkdir()
        for _ in range(3):
            self.assertEqual(self.run_script("tests/install_npm_packages.sh", npm, work), 0)
        self.assertEqual(len(self.calls.read_text().splitlines()), 1)

    def tare(self, name, output):
        """A program whose quantized models hold that text."""
        path = self.folder / name
        path.write_text(f'''#!/bin/sh
[ "$1" = quantize ] || exec echo "$1"
while [ "$1" != -o ]; do shift; done
echo "{output}" >"$2"
''')
        path.chmod(0o755)
        return path

    def test_outputs_are_compared_byte_by_byte(self):
        same, other = self.tare("same", "a"), self.tare("other", "b")
        ending = self.tare("ending", "a")
        ending.write_text(ending.read_text().replace('exec echo "$1"', "exit 2"))
        samples = self.folder / "net_samples.h5"
        (self.folder / "net.onnx").touch()
        samples.touch()
        (self.folder / "list").write_text("net.onnx net_samples.h5\n")
        for place, networks in ((self.folder, 3), (self.folder / "list", 3), (None, 2)):
            for after, differing in ((same, 0), (other, 2), (ending, 4)):
                words = [ROOT / "scripts/compare_outputs.py", same, after, *([place] if place else [])]
                ran = subprocess.run(words, capture_output=True, text=True, check=False)
                self.assertEqual(ran.returncode, differing > 0, ran.stderr)
                self.assertEqual(ran.stdout.splitlines()[-1], f"{6 * networks} files of {networks} networks, "
                                                              f"{differing * networks} differ")


if __name__ == "__main__":
    unittest.main()
