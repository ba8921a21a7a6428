"""The include check finds what it is there to find."""
import pathlib
import tempfile
import unittest

import include_arrows


class IncludeArrows(unittest.TestCase):
    def faults(self, name, line):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True)
            path.write_text(f"// first\n{line}\n")
            (path.parent / "local.h").write_text("")
            return [fault for fault in include_arrows.check(pathlib.Path(folder))[0]
                    if "local.h" not in fault.split(":")[0]]

    def test_follows_arrows(self):
        for name, line in [
                ("src/lower/a.cpp", '#include "simulate/b.h"'),
                ("src/lower/a.cpp", '#include "tare/graph.h"'),
                ("src/lower/a.cpp", '#include "lower/b.h"'),
                ("src/execute/a.cpp", '#include "kernel_list.inc"'),
                ("src/execute/a.cpp", "#include <Eigen/Core>"),
                ("src/io/a.cpp", "#include <sys/stat.h>"),
                ("calibrators/a.cpp", '#include "tare/calibrator.h"'),
                ("apps/tare/a.cpp", '#include "local.h"'),
                ("docs/examples/a.cpp", "#include <tare/graph.h>"),
                ("apps/tare/a.cpp", "#include <nlohmann/json.hpp>"),
                ("include/tare/simulate.h", '#include "tare/config.h"')]:
            self.assertEqual(self.faults(name, line), [], (name, line))

    def test_refuses_the_way_back(self):
        for name, line in [
                ("src/graph/a.cpp", '#include "execute/b.h"'),
                ("src/simulate/a.cpp", '#include "tare/calibrator.h"'),
                ("src/calibrate/a.cpp", '#include "lower/b.h"'),
                ("include/tare/graph.h", '#include "tare/execute.h"'),
                ("include/tare/graph.h", '#include "base/check.h"'),
                ("include/tare/graph.h", "#include <Eigen/Core>"),
                ("include/tare/new.h", "// nothing"),
                ("src/new/a.cpp", "// nothing"),
                ("src/graph/a.cpp", '#include "graph.h"'),
                ("src/graph/a.cpp", '#include "tare/unknown.h"'),
                ("docs/examples/a.cpp", "#include <tare/unknown.h>"),
                ("src/graph/a.cpp", "#include <tare/execute.h>"),
                ("src/io/a.cpp", "#include <Eigen/Core>"),
                ("src/io/a.cpp", "#include <boost/any.hpp>"),
                ("src/pipeline/a.cpp", "#  include <nlohmann/json.hpp>"),
                ("patterns/a.cpp", '#include "graph/per_axis.h"'),
                ("apps/tare/a.cpp", '#include "pipeline/b.h"')]:
            self.assertEqual(len(self.faults(name, line)), 1, (name, line))


if __name__ == "__main__":
    unittest.main()
