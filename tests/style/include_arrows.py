"""Finds includes that go against the order of the stages.

usage: include_arrows.py ROOT           checks the files, and the table in docs/architecture.md
       include_arrows.py ROOT --table   prints that table

A folder of src/ or a public header that is absent from the tables below is a fault too, so
neither can appear without its place in the order.
"""
import pathlib
import re
import sys

ARROWS = {  # stage -> stages it may include, bottom up
    "base": [],
    "graph": ["base"],
    "pattern": ["base", "graph"],
    "io": ["base", "graph", "pattern"],
    "onnx": ["base", "graph"],
    "tflite": ["base", "graph"],
    "execute": ["base", "graph"],
    "prepare": ["base", "graph", "pattern", "execute"],
    "simulate": ["base", "graph", "pattern"],
    "calibrate": ["base", "graph", "execute", "simulate"],
    "equalize": ["base", "graph", "execute", "simulate", "calibrate"],
    "reconstruct": ["base", "graph", "execute", "simulate", "calibrate"],
    "search": ["graph", "simulate", "calibrate"],
    "lower": ["base", "graph", "pattern", "simulate"],
    "explain": ["graph", "simulate", "lower"],
    "compare": ["base", "graph", "execute", "simulate", "calibrate", "lower", "explain"],
    "report": ["base", "compare"],
    "pipeline": ["base", "graph", "pattern", "io", "onnx", "tflite", "execute", "prepare",
                 "simulate", "calibrate", "equalize", "reconstruct", "search", "lower", "explain",
                 "compare", "report"],
    "c": ["base", "graph", "io", "onnx", "simulate", "calibrate", "lower", "explain", "compare", "report", "pipeline"],
    "engine": ["base", "graph", "io", "onnx", "execute", "simulate", "calibrate", "lower", "explain",
               "compare", "pipeline"],
}
# Public header -> the lowest stage, or stages, that may include it. Usually that is the stage behind it; the
# configuration and the samples are plain types that stages use and only io reads from files.
OWNER = {
    "error.h": "base", "process.h": "base", "tensor.h": "graph", "arithmetic.h": "graph",
    "graph.h": "graph", "node.h": "graph", "config.h": "graph", "dataset.h": "graph", "pattern.h": "pattern",
    "model_files.h": "onnx tflite", "execute.h": "execute", "simulate.h": "simulate",
    "quant_table.h": "simulate", "calibrator.h": "calibrate",
    "statistics.h": "calibrate", "integer_graph.h": "lower",
    "report.h": "compare", "quantize.h": "pipeline",
    "toolkit.h": "pipeline", "search.h": "pipeline", "tare.h": "pipeline", "c.h": "c",
}
CONFINED = {  # start of a third-party header -> the places that may name it
    "onnx/": "onnx", "google/protobuf/": "onnx",
    "flatbuffers/": "tflite",
    "hdf5": "io", "H5": "io", "yaml-cpp/": "io", "png.h": "io", "jpeglib.h": "io", "jerror.h": "io",
    "sndfile.h": "io", "zlib.h": "io", "libdeflate.h": "io",
    "tbb/": "base", "oneapi/tbb": "base", "xxhash": "base",
    "Eigen/": "execute calibrate", "unsupported/Eigen/": "execute", "omp.h": "execute",
    "dnnl": "execute", "oneapi/dnnl": "execute",
    "nlohmann/": "apps engine report c", "cxxopts.hpp": "apps", "fmt/": "apps",
}
OUTSIDE = ("calibrators", "metrics", "patterns", "apps", "docs")  # see public headers only, of any stage
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def stage_of(name):
    """The stage a file belongs to, or the outside folder it lives in."""
    if name.parts[0] == "src":
        return name.parts[1]
    if name.parts[0] == "include":
        return OWNER.get(name.name, str(name))
    return name.parts[0]


def third_party_fault(name, included):
    if name.name == "c.h" and included in ("stddef.h", "stdint.h"):
        return None
    if name.parts[0] == "include" and not re.fullmatch(r"[a-z0-9_]+", included):
        return f"public headers include the standard library only, not <{included}>"
    for prefix, only in CONFINED.items():
        if included.startswith(prefix):
            return None if stage_of(name) in only.split() else f"<{included}> is confined to {only}"
    if "/" in included and not included.startswith("sys/"):
        return f"<{included}> has no place in CONFINED"
    return None


def own_fault(name, included, is_beside):
    stage = stage_of(name)
    first, _, rest = included.partition("/")
    if first == "tare":
        if rest not in OWNER:
            return f"public header '{included}' has no owner"
        owners = OWNER[rest].split()
        for one in stage.split():
            if one not in OUTSIDE and not {one, *ARROWS[one]} & set(owners):
                return f"{one} may not see {OWNER[rest]} ('{included}')"
        return None
    if stage in OUTSIDE:
        is_generated = included.endswith("_list.inc")
        return None if is_beside or is_generated else f"{stage}/ sees public headers only, not '{included}'"
    if name.parts[0] == "include":
        return f"public headers see public headers only, not '{included}'"
    if first not in ARROWS:
        return None if included.endswith("_list.inc") else f"'{included}' does not name its stage"
    if first == stage or first in ARROWS[stage]:
        return None
    return f"{stage} may not see {first} ('{included}')"


def faults_of_line(root, name, line):
    found = INCLUDE.match(line)
    if not found:
        return None
    kind, included = found.groups()
    if kind == "<" and not included.startswith("tare/"):  # examples include as users do
        return third_party_fault(name, included)
    # Beside the file, or in a folder around it up to the top one (apps/tare/ for its verbs).
    beside = any((root / folder / included).exists() for folder in list(name.parents)[:-1])
    return own_fault(name, included, beside)


def check(root):
    """All faults below `root`, and the number of files looked at."""
    faults, count = [], 0
    for top in ("include", "src") + OUTSIDE:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            count += 1
            name = path.relative_to(root)
            if not set(stage_of(name).split()) <= {*ARROWS, *OUTSIDE}:
                faults.append(f"{name}: has no place in the order")
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                reason = faults_of_line(root, name, line)
                if reason:
                    faults.append(f"{name}:{number}: {reason}")
    return faults, count


def table():
    rows = [f"| {stage} | {' '.join(below)} |" for stage, below in ARROWS.items()]
    return "\n".join(["| stage | may include |", "| --- | --- |", *rows])


def main(root, *options):
    if "--table" in options:
        print(table())
        return False
    faults, count = check(root)
    if table() not in (root / "docs/architecture.md").read_text():
        faults.append("docs/architecture.md: its table of arrows is not that of --table")
    print("\n".join(faults) or f"{count} files, no fault")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
