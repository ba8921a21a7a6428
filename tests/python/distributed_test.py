"""Statistics that several processes collect are those of one, whatever brings the work to them."""
import concurrent.futures
import multiprocessing
import os
import pathlib
import signal
import threading
import time
import unittest

import support
import tare
import tare.distributed


def is_slow_once(path):
    """For a worker that is to be killed: true in the first process that asks."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


class Distributed(support.InFolder):
    def setUp(self):
        super().setUp()
        self.program("calibrate", "digits.onnx", "--data", "digits_calibration.h5", "-o", "expected.h5")
        self.expected = pathlib.Path("expected.h5").read_bytes()

    def assert_expected(self, statistics):
        self.assertEqual(statistics.samples, 200)
        statistics.save("found.h5")
        self.assertEqual(pathlib.Path("found.h5").read_bytes(), self.expected)

    def test_threads_and_processes_collect_what_one_does(self):
        spawn = multiprocessing.get_context("spawn")
        for executor in (concurrent.futures.ThreadPoolExecutor(2), concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn)):
            with executor:
                for parts in (1, 3, 7):
                    self.assert_expected(tare.distributed.calibrate(executor, "digits.onnx", "digits_calibration.h5", parts=parts))

    def test_parts_may_be_files(self):
        try:
            import h5py
        except ImportError:
            self.skipTest("there is no h5py")
        with h5py.File("digits_calibration.h5") as whole:
            names = []
            for number, (begin, end) in enumerate(((0, 11), (11, 150), (150, 200))):
                names.append(f"part-{number}.h5")
                with h5py.File(names[-1], "w") as part:
                    for name in whole:
                        part[name] = whole[name][begin:end]
                        part[name].attrs.update(whole[name].attrs)
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            self.assert_expected(tare.distributed.calibrate(executor, "digits.onnx", names))

    def test_errors_of_workers_are_raised(self):
        spawn = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as executor:
            with self.assertRaisesRegex(tare.FileError, "none.h5"):
                tare.distributed.calibrate(executor, "digits.onnx", ["none.h5"])
            with self.assertRaisesRegex(tare.ConfigError, "parts"):
                tare.distributed.calibrate(executor, "digits.onnx", "digits_calibration.h5")

    def test_a_cluster_loses_a_worker_and_nothing_else(self):
        try:
            import distributed
        except ImportError:
            self.skipTest("there is no dask.distributed")
        import dask
        with dask.config.set({"distributed.worker.daemon": False, "distributed.worker.multiprocessing-method": "spawn"}), \
                distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, \
                distributed.Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
            self.assertEqual(len(set(pids)), 3)
            slow = pathlib.Path("slow").absolute()
            victim = []

            class Killing:
                """The client, one of whose workers is killed while it works."""

                @staticmethod
                def map(function, tasks):
                    def slowly(task):
                        if is_slow_once(slow):
                            (slow.parent / "victim").write_text(str(os.getpid()))
                            time.sleep(60)
                        return function(task)
                    return client.map(slowly, tasks, pure=False)

            def kill():
                path = slow.parent / "victim"
                while not (path.exists() and path.read_text()):
                    time.sleep(0.05)
                victim.append(int(path.read_text()))
                os.kill(victim[0], signal.SIGKILL)

            killer = threading.Thread(target=kill, daemon=True)
            killer.start()
            self.assert_expected(tare.distributed.calibrate(Killing, str(pathlib.Path("digits.onnx").absolute()),
                                                            str(pathlib.Path("digits_calibration.h5").absolute()), parts=9))
            killer.join(10)
            self.assertIn(victim[0], pids)


if __name__ == "__main__":
    unittest.main()
