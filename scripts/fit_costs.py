"""Fits the costs of a target's operators to what layers were measured to take.

usage: fit_costs.py TUNED.yaml ...     files of `tare tune`, one for each network

Prints `conversion` and rows of `operators` in nanoseconds, as configs/targets/ort-cpu.yaml has them: the least squares of
relative errors, with layers of less than 5 us counted as if they took so long, since calls are most of their time. What
it says of errors is of each network by costs that were fitted to the others.
"""
import math
import re
import statistics
import sys

FEW_CHANNELS = 8
SHORT = 5e3  # ns

ROW = re.compile(r'- \{op: "(?P<layer>.*)", float: (?P<float>[^,]*), integer: (?P<integer>[^}]*)\}')
CONVERSION = re.compile(r"^conversion: \{call: ([^,]*), element: ([^,]*), layout: ([^}]*)\}", re.M)


def shapes(text):
    return [[int(n) for n in shape.split(",") if n] for shape in re.findall(r"\[([\d,]*)\]", text)]


def layer(text):
    """Kind, multiplications or elements, and reads of the window; nothing for layers that have no row."""
    name, _, result = text.partition(" -> ")
    op = name.split(" ")[0].split("+")[0]
    operands, out = shapes(name), shapes(result)[0]
    size = math.prod(out)
    if op == "Conv" and len(operands) > 1:
        weights = operands[1]
        window = math.prod(weights[2:])
        groups = int((re.findall(r"group (\d+)", result) or ["1"])[0])
        kind = "depthwise" if weights[1] == 1 and groups > 1 else "few_channels" if weights[1] < FEW_CHANNELS else "any"
        reads = 0 if window == 1 else window * size / out[1]
        return ("Conv", kind), size * weights[1] * window, reads
    if op in ("Gemm", "MatMul") and len(operands) > 1:
        # A weight is a matrix, whose other factor has as many columns as it has rows.
        depth = operands[0][-1]
        kind = "activations" if op == "MatMul" and len(operands[1]) == len(operands[0]) > 2 else "any"
        return (op, kind), size * depth, 0
    if op in ("Add", "Mul"):
        return (op, "any"), size, 0
    return None


def read(path):
    text = open(path).read()
    rows = []
    for match in ROW.finditer(text):
        known = layer(match["layer"])
        if known:
            rows.append((*known, float(match["float"]), float(match["integer"])))
    found = CONVERSION.search(text)
    return rows, [float(x) for x in found.groups()] if found else None


def weighted(rows, amount, time):
    """The factor of `amount` with the least relative errors of `time`."""
    pairs = [(amount(row), time(row), 1 / max(time(row), SHORT) ** 2) for row in rows]
    return sum(w * a * t for a, t, w in pairs) / max(sum(w * a * a for a, _, w in pairs), 1e-30)


def two_factors(rows, first, second, time):
    """Factors of both amounts, neither of them negative."""
    best = None
    for share in (i / 50 for i in range(51)):  # of the time at the mean ratio of both amounts
        ratio = sum(first(r) for r in rows) / max(sum(second(r) for r in rows), 1)
        both = lambda r: (1 - share) * first(r) + share * ratio * second(r)
        factor = weighted(rows, both, time)
        error = sum(((factor * both(r) - time(r)) / max(time(r), SHORT)) ** 2 for r in rows)
        if best is None or error < best[0]:
            best = (error, factor * (1 - share), factor * share * ratio)
    return best[1:]


def fit(rows):
    costs = {}
    for key in sorted({row[0] for row in rows}):
        of_kind = [row for row in rows if row[0] == key]
        integer, window = two_factors(of_kind, lambda r: r[1], lambda r: r[2], lambda r: r[4]) if any(
            r[2] for r in of_kind) else (weighted(of_kind, lambda r: r[1], lambda r: r[4]), 0)
        costs[key] = (weighted(of_kind, lambda r: r[1], lambda r: r[3]), integer, window, len(of_kind))
    return costs


def errors(costs, rows):
    result = []
    for key, amount, reads, real, integer in rows:
        if key in costs:
            by_float, by_integer, by_window, _ = costs[key]
            result.append(abs(by_float * amount - real) / max(real, SHORT))
            result.append(abs(by_integer * amount + by_window * reads - integer) / max(integer, SHORT))
    return result


def main(*paths):
    networks = [read(path) for path in paths]
    rows = [row for of_network, _ in networks for row in of_network]
    conversions = [conversion for _, conversion in networks if conversion]
    call, element, layout = (statistics.median(values) for values in zip(*conversions))
    print(f"conversion: {{call: {call:.3g}, element: {element:.2g}, layout: {layout:.2g}}}\noperators:")
    for (op, kind), (real, integer, window, count) in fit(rows).items():
        only = "" if kind == "any" else f", only: {kind}"
        print(f"  - {{op: {op}{only}, float: {real:.2g}, integer: {integer:.2g}, window: {window:.2g}}}  # {count} layers")
    held_out = []
    for i, (own, _) in enumerate(networks):
        others = [row for k, (of_network, _) in enumerate(networks) if k != i for row in of_network]
        held_out += errors(fit(others), own)
    if held_out:
        print(f"# {len(rows)} layers of {len(networks)} networks; median error of networks that were not fitted to: "
              f"{100 * statistics.median(held_out):.0f} %")


if __name__ == "__main__":
    main(*sys.argv[1:])
