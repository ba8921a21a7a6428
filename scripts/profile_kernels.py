"""Times every kernel that ONNX Runtime runs for a model, for fit_costs.py.

usage: profile_kernels.py MODEL.onnx [SAMPLES.h5] >TIMES.json

Needs onnxruntime, onnx, numpy and h5py. One thread; inputs that SAMPLES does not have are made up. Prints for each node of
the optimized graph its operator, the shapes of what it reads and computes, and the median of its nanoseconds.
"""
import collections
import json
import os
import statistics
import sys
import tempfile
import time

import h5py
import numpy
import onnx
import onnxruntime

SECONDS = 2
TYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(bool)": "bool"}


def processor():
    with open("/proc/cpuinfo") as file:
        return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "an unknown processor")


def options(**values):
    result = onnxruntime.SessionOptions()
    result.intra_op_num_threads = result.inter_op_num_threads = 1
    result.log_severity_level = 4
    for name, value in values.items():
        setattr(result, name, value)
    return result


def session(model, **values):
    return onnxruntime.InferenceSession(model, options(**values), providers=["CPUExecutionProvider"])


def first_sample(argument, samples):
    kind = TYPES.get(argument.type, argument.type[len("tensor("):-1])
    shape = [extent if isinstance(extent, int) and extent > 0 else 1 for extent in argument.shape]
    if argument.name in samples and isinstance(samples[argument.name], h5py.Dataset):
        stored = samples[argument.name]
        # Samples with the batch in them, values without a batch, or samples of which some make a batch.
        sample = stored[0] if stored.ndim != len(shape) else stored[:shape[0] if shape else 1]
        return numpy.asarray(sample).astype(kind)
    if kind.startswith("float"):
        return numpy.random.default_rng(1).standard_normal(shape).astype(kind)
    return numpy.zeros(shape, kind)


def optimized(model, folder):
    """What the engine makes of the model: attributes of its nodes, and the shapes of constants that they read."""
    path = os.path.join(folder, "optimized.onnx")
    session(model, optimized_model_filepath=path)
    graph = onnx.load(path).graph
    shapes = {constant.name: list(constant.dims) for constant in graph.initializer}
    known = {}
    for node in graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute
                      if a.type == onnx.AttributeProto.INT or a.name == "kernel_shape"}
        known[node.name] = {"constants": [shapes.get(name) for name in node.input], "attributes": attributes}
    return known


def profile(model, feeds, folder):
    running = session(model, enable_profiling=True, profile_file_prefix=os.path.join(folder, "profile"))
    end = time.perf_counter() + SECONDS
    runs = 0
    while runs < 6 or time.perf_counter() < end:
        running.run(None, feeds)
        runs += 1
    with open(running.end_profiling()) as file:
        events = json.load(file)
    times = collections.defaultdict(list)
    facts = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            name = event["name"][:-len("_kernel_time")]
            times[name].append(1e3 * event["dur"])
            facts[name] = event["args"]
    return {name: (statistics.median(values), facts[name]) for name, values in times.items() if len(values) == runs}


def whole(model, feeds):
    running = session(model)
    times = []
    end = time.perf_counter() + SECONDS
    while len(times) < 6 or time.perf_counter() < end:
        start = time.perf_counter_ns()
        running.run(None, feeds)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times)


def main(model, samples=None):
    given = h5py.File(samples) if samples else {}
    feeds = {argument.name: first_sample(argument, given) for argument in session(model).get_inputs()}
    nodes = []
    with tempfile.TemporaryDirectory() as folder:
        known = optimized(model, folder)
        for name, (nanoseconds, facts) in profile(model, feeds, folder).items():
            shapes = [[next(iter(v.values())) for v in facts[key]] for key in ("input_type_shape", "output_type_shape")]
            types = [next(iter(v)) for v in facts["input_type_shape"]]
            nodes.append({"op": facts["op_name"], "ns": nanoseconds, "types": types, "operands": shapes[0],
                          "results": shapes[1], **known.get(name, {"constants": [], "attributes": {}})})
    json.dump({"model": os.path.basename(model), "version": onnxruntime.__version__, "processor": processor(), "ns": whole(model, feeds), "nodes": nodes}, sys.stdout)


main(*sys.argv[1:])
