"""Fits the costs of operators that a target states to what ONNX Runtime's kernels were measured to take.

usage: fit_costs.py PROCESSOR TIMES.json ...

TIMES are what profile_kernels.py prints of models in float and of the same quantized with `--set objective=coverage`.
Prints an entry of `processors`, as configs/targets/ort-cpu.yaml has them: the least sum of errors, without negative costs,
each counted relative to the time of its kernel and of its model alike. Errors are those of each model by costs that were
fitted to the others. Needs numpy.
"""
import collections
import json
import math
import statistics
import sys

import numpy

SHORT = 2e3  # ns
FEW_CHANNELS = 8
AMOUNTS = ("call", "work", "result", "weight", "gathered", "window")  # the last on integers only
ENOUGH, SOME, MANY = 2, 4, 6  # kernels for a row of their own: for their work, a call as well, and all amounts

# Operator: kernels in float, kernels on integers.
KERNELS = {
    "Conv": (("Conv", "FusedConv"), ("QLinearConv",)),
    "ConvTranspose": (("ConvTranspose",), ()),
    "Gemm": (("Gemm", "FusedGemm"), ("QGemm",)),
    "MatMul": (("MatMul", "FusedMatMul"), ("QLinearMatMul", "MatMulIntegerToFloat")),
    "Add": (("Add",), ("QLinearAdd",)),
    "Mul": (("Mul",), ("QLinearMul",)),
    "Sigmoid": (("Sigmoid",), ("QLinearSigmoid",)),
    "Softmax": (("Softmax",), ("QLinearSoftmax",)),
    "LeakyRelu": (("LeakyRelu",), ("QLinearLeakyRelu",)),
    "Concat": (("Concat",), ("QLinearConcat",)),
    "AveragePool": (("AveragePool",), ("QLinearAveragePool",)),
    "GlobalAveragePool": (("GlobalAveragePool",), ("QLinearGlobalAveragePool",)),
    "MaxPool": (("MaxPool",), ("NhwcMaxPool", "MaxPool")),
    "Gelu": (("Gelu", "BiasGelu"), ()),
    "LayerNormalization": (("LayerNormalization", "SkipLayerNormalization"), ()),
    **{op: ((op,), (op,)) for op in ("Resize", "Slice", "Split", "Transpose", "Pad", "Gather", "Reshape", "Flatten", "Squeeze",
                                     "Unsqueeze", "ReduceMax")},
    **{op: ((op,), ()) for op in ("PRelu", "Erf", "Tanh", "HardSigmoid", "Clip", "Relu", "Div", "Sub", "Pow",
                                  "Log", "BatchNormalization", "ReduceMean", "OneHot", "GRU", "LSTM")},
}
SPELLED = ("PRelu", "LeakyRelu")
# Files spell these as several operators, which took so many nanoseconds on AVX-512: for a call, and for each element.
SPELLED_WITH_EXP = {"Elu": (2300, 0.41), "Selu": (3000, 0.56), "Softplus": (3500, 2.4)}
OPERATOR = {}  # (kernel, on integers) -> operator
for name, sides in KERNELS.items():
    for on_integers, kernels in enumerate(sides):
        OPERATOR.update({(kernel, bool(on_integers)): name for kernel in kernels})


def size(shape):
    return math.prod(shape)


def convolution(node, on_integers):
    weights = node["constants"][3 if on_integers else 1]
    result = node["results"][0]
    channels = result[-1] if node["attributes"].get("channels_last") else result[1]
    window = size(weights[2:])
    is_depthwise = weights[1] == 1 and node["attributes"].get("group", 1) > 1
    is_sequence = len(result) == 3
    # Float kernels of depthwise convolutions pad channels to 16 where these are divisible by 4, and integer ones compute
    # what is beyond the last 16 one by one.
    is_odd = is_sequence or weights[0] % 4
    kind = ("odd_depthwise" if is_depthwise and is_odd and not on_integers
            else "ragged_depthwise" if is_depthwise and (is_sequence or weights[0] % 16) and on_integers
            else "depthwise" if is_depthwise else "sequence" if is_sequence else "volume" if len(result) == 5
            else "grouped" if node["attributes"].get("group", 1) > 1 else "few_channels" if weights[1] < FEW_CHANNELS else "any")
    if kind == "sequence":  # there are few, all much alike
        return kind, {"work": size(result) * weights[1] * window}
    reads = 0 if window == 1 else window * size(result) / channels
    gathered = 0 if is_depthwise else window * size(result) / channels * weights[1] * node["attributes"].get("group", 1)
    return kind, {"work": size(result) * weights[1] * window, "result": size(result), "weight": 0 if is_depthwise else size(weights),
                  "window": reads, "gathered": gathered}


def transposed_convolution(node):
    weights = node["constants"][1]
    return "any", {"work": size(node["operands"][0]) * size(weights) / weights[0], "result": size(node["results"][0])}


def recurrent(node):
    steps = node["operands"][0][0] * node["operands"][0][1]
    return "any", {"work": steps * (size(node["constants"][1]) + size(node["constants"][2]))}


def amounts(op, node, on_integers):
    """The kind of the node, and how much of what it computes."""
    if op == "Conv":
        return convolution(node, on_integers)
    if op == "ConvTranspose":
        return transposed_convolution(node)
    if op in ("GRU", "LSTM"):
        return recurrent(node)
    result = size(node["results"][0])
    if op in ("Gemm", "MatMul"):
        second = node["constants"][3 if node["op"].startswith("Q") else 1]
        kind = "activations" if op == "MatMul" and second is None else "any"
        return kind, {"work": result * node["operands"][0][-1], "weight": size(second) if second else 0}
    if op in ("AveragePool", "MaxPool"):
        window = size(node["attributes"]["kernel_shape"])
        return "any", {"work": size(node["operands"][0]), "result": result, "gathered": result * window}
    reads_all = op.startswith("Reduce") or op.endswith("Pool")
    return "any", {"work": size(node["operands"][0]) if reads_all else result}


def kernels(times):
    """(operator, kind, on integers), amounts and nanoseconds of every kernel that fits a row."""
    by_node, by_operand = profiling_overhead(times)
    for model in times:
        for node in model["nodes"]:
            if not node["results"] or not node["operands"]:
                continue
            on_integers = node["op"].startswith("QLinear") or node["types"][0] in ("uint8", "int8")
            nanoseconds = max(node["ns"] - by_node - by_operand * len(node["operands"]), 100)
            if node["op"] in ("QuantizeLinear", "DequantizeLinear", "ReorderInput", "ReorderOutput"):
                yield model, (node["op"], "any", False), {"work": size(node["results"][0])}, nanoseconds
                continue
            op = OPERATOR.get((node["op"], on_integers), None if on_integers else "*")
            try:
                if op:
                    kind, amount = amounts(op, node, on_integers)
                    # With weights both are the same kernels.
                    yield model, ("MatMul" if op == "Gemm" else op, kind, on_integers), amount, nanoseconds
            except (IndexError, TypeError):
                pass  # weights that are no constants


def profiling_overhead(times):
    """What a node takes longer while it is profiled, and that for each of its operands."""
    counts = numpy.array([[len(model["nodes"]), sum(len(node["operands"]) for node in model["nodes"])] for model in times])
    longer = numpy.array([sum(node["ns"] for node in model["nodes"]) - model["ns"] for model in times])
    weights = 1 / numpy.array([model["ns"] for model in times])
    return numpy.maximum(least_errors(counts * weights[:, None], longer * weights), 0)


def fit(measured):
    """Nanoseconds for a call and for each of its amounts, by (operator, kind, on integers)."""
    groups = collections.defaultdict(list)
    for model, key, amount, nanoseconds in measured:
        groups[key].append((amount, nanoseconds, model["ns"]))
    costs = {}
    for key, rows in groups.items():
        if len(rows) < ENOUGH and key[0] != "*":
            continue
        names = told_by(rows, key[2])
        times = numpy.array([ns for _, ns, _ in rows])
        weights = numpy.array([1 / (ns * whole) ** 0.5 for _, ns, whole in rows])
        table = numpy.array([[1.0 if n == "call" else a.get(n, 0) for n in names] for a, _, _ in rows]) * weights[:, None]
        while True:
            factors = least_errors(table, times * weights)
            if (factors >= 0).all():
                break
            worst = int(numpy.argmin(factors * numpy.linalg.norm(table, axis=0)))
            table = numpy.delete(table, worst, axis=1)
            del names[worst]
        costs[key] = dict(zip(names, factors))
    return costs


def told_by(rows, on_integers):
    """The amounts whose costs so many kernels tell."""
    if len(rows) < MANY:
        return ["call", "work"] if len(rows) >= SOME else ["work"]
    return [n for n in AMOUNTS if n == "call" or (any(a.get(n) for a, _, _ in rows) and (n != "window" or on_integers))]


def least_errors(table, values):
    """The factors with the least sum of errors, not of their squares: some kernels find cold caches. By least squares whose
    weights follow from the errors before."""
    weights = numpy.ones(len(values))
    for _ in range(20):
        factors = numpy.linalg.lstsq(table * weights[:, None], values * weights, rcond=None)[0]
        errors = abs(table @ factors - values)
        weights = 1 / numpy.sqrt(numpy.maximum(errors, 0.3 * statistics.mean(abs(values)) + 1e-12))
    return factors


def predicted(costs, key, amount):
    return sum(factor * (1 if name == "call" else amount.get(name, 0)) for name, factor in costs[key].items())


def number(value):
    return f"{value:.3g}" if value < 1e3 else f"{value:.0f}"


def side(name, cost):
    """Keys of one side of a row."""
    keys = {"call": f"{name}_call", "work": name, "result": f"{name}_result", "weight": f"{name}_weight",
            "gathered": "gathered" if name == "integer" else "float_gathered", "window": "window"}
    return "".join(f", {keys[k]}: {number(cost[k])}" for k in keys if cost.get(k, 0) > 1e-5)


def row(costs, op, kind):
    product = "MatMul" if op == "Gemm" and kind == "any" else op
    floats = costs.get((product, {"ragged_depthwise": "depthwise"}.get(kind, kind), False), {})
    integers = costs.get((product, {"odd_depthwise": "ragged_depthwise"}.get(kind, kind), True), {})
    if op in SPELLED_WITH_EXP and kind == "any":
        floats = dict(zip(("call", "work"), SPELLED_WITH_EXP[op]))
    if not floats and not integers and not (op in SPELLED and kind == "any"):
        return
    if op in SPELLED:  # in files, the larger one of x and slope * x
        floats = {name: 2 * cost for name, cost in costs[("Mul", "any", False)].items()}
        integers = integers or floats
    integers = integers or floats  # as far as anybody knows
    only = "" if kind == "any" else f", only: {kind}"
    op = '"*"' if op == "*" else op
    print(f"      - {{op: {op}{only}{side('float', floats)}{side('integer', integers)}}}")


def main(processor, *paths):
    times = []
    for path in paths:
        with open(path) as file:
            times.append(json.load(file))
    for model in times:  # whose nodes are there as well
        model["nodes"] = [node for node in model["nodes"] if node["op"] not in ("If", "Loop", "Scan")]
    measured = list(kernels(times))
    costs = fit(measured)
    errors = []
    for model in times:
        name = model["model"].split(".")[0]
        others = fit(kernels([m for m in times if m["model"].split(".")[0] != name]))
        errors += [abs(predicted(others, key, amount) - ns) / max(ns, SHORT) for _, key, amount, ns in kernels([model])
                   if key in others]
    quantize, dequantize = costs[("QuantizeLinear", "any", False)], costs[("DequantizeLinear", "any", False)]
    layout = costs[("ReorderOutput", "any", False)]["work"] + costs[("Transpose", "any", True)]["work"]
    print(f"  # {len(measured)} kernels of {len(times)} files; median error of models that were not fitted to: "
          f"{100 * statistics.median(errors):.0f} %")
    print(f"  - name: {processor}")
    print(f"    summary: ONNX Runtime {times[0]['version']} on {times[0]['processor']}")
    print("    slowdown: 0.06")
    print(f"    conversion: {{call: {number((quantize['call'] + dequantize['call']) / 2)}, element: {number(quantize['work'])}, "
          f"dequantized: {number(dequantize['work'])}, layout: {number(layout)}}}")
    print("    costs:")
    for op in [*KERNELS, *SPELLED_WITH_EXP, "*"]:
        for kind in ("odd_depthwise", "ragged_depthwise", "depthwise", "sequence", "volume", "grouped", "few_channels", "activations", "any"):
            row(costs, op, kind)


if __name__ == "__main__":
    main(*sys.argv[1:])
