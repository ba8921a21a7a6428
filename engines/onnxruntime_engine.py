"""Times models in ONNX Runtime, for `tare measure`, `tune` and `quantize --engine`.

usage: onnxruntime_engine.py        speaks the protocol of docs/engines.md on standard input and output

Needs the packages onnxruntime and numpy. Runs on another machine too: `--engine 'ssh board python3 onnxruntime_engine.py'`.
"""
import base64
import json
import os
import platform
import sys
import time

import numpy
import onnxruntime

# What libraries print is not part of the protocol.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

TYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16", "tensor(bool)": "bool"}


def processor():
    facts = {}
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                key, _, value = line.partition(":")
                facts.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    name = facts.get("model name") or platform.processor() or platform.machine()
    numbers = [facts[key] for key in ("cpu family", "model") if key in facts]
    return f"{name} ({'/'.join(numbers)})" if numbers else name


def session(source, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if threads > 1:
        # Threads that wait for the next run by spinning would disturb the model that is timed in between.
        options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def made_up(argument):
    """Something for an input that nobody gave: normal values, or zeros, which are valid indices."""
    kind = TYPES.get(argument.type, argument.type[len("tensor("):-1])
    shape = [extent if isinstance(extent, int) and extent > 0 else 1 for extent in argument.shape]
    if kind.startswith("float"):
        return numpy.random.default_rng(1).standard_normal(shape).astype(kind)
    return numpy.zeros(shape, kind)


def given(entry):
    values = numpy.frombuffer(base64.b64decode(entry["data"]), numpy.dtype(entry["type"]))
    return values.reshape(entry["shape"])


class Model:
    def __init__(self, source, inputs, threads):
        self.session = session(source, threads)
        known = {entry["name"]: given(entry) for entry in inputs}
        self.feeds = {a.name: known[a.name] if a.name in known else made_up(a) for a in self.session.get_inputs()}
        self.time(2)  # memory is planned in the first run

    def time(self, runs):
        run, feeds, now = self.session.run, self.feeds, time.perf_counter_ns
        start = now()
        for _ in range(runs):
            run(None, feeds)
        return (now() - start) / runs


class Engine:
    def __init__(self):
        self.threads = 1
        self.models = {}

    def open(self, request):
        self.threads = request.get("threads", 1)
        return {"engine": "onnxruntime", "version": onnxruntime.__version__, "processor": processor(),
                "threads": self.threads}

    def load(self, request):
        source = request["file"]
        if "content" in request:
            source = base64.b64decode(request["content"])
        elif not os.path.isfile(source) or os.path.getsize(source) != request["bytes"]:
            return {"missing": True}
        self.models[request["model"]] = Model(source, request.get("inputs", []), self.threads)
        return {}

    def unload(self, request):
        self.models.pop(request["model"], None)
        return {}

    def time(self, request):
        names, runs = request["models"], request["runs"]
        samples = [[] for _ in names]
        for round_number in range(request["rounds"]):
            # In turn, and the other way round every second time, so that each comes behind each.
            order = range(len(names))
            for i in order if round_number % 2 == 0 else reversed(order):
                samples[i].append(self.models[names[i]].time(runs[i]))
        return {"nanoseconds": samples}

    def answer(self, request):
        requests = {"open": self.open, "load": self.load, "unload": self.unload, "time": self.time}
        try:
            return requests[request["request"]](request)
        except Exception as error:  # whatever a model does to the runtime is an answer
            return {"error": f"{type(error).__name__}: {error}"}


def main():
    engine = Engine()
    for line in sys.stdin:
        print(json.dumps(engine.answer(json.loads(line))), file=answers, flush=True)


main()
