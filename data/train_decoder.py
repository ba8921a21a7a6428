#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small decoder on the texts of docs/ and writes it beside this script, with and without a cache.

Needs NumPy, h5py and the Python package onnx; takes some minutes on two cores. It writes decoder.onnx, which takes whole
sequences, decoder_with_past.onnx, which takes and gives a cache of keys and values, decoder.weights, which holds the
weights of both, and samples. See README.md for what is in them. `--steps` stops early, and a second run goes on.
"""

import argparse
import pickle
from pathlib import Path

import h5py
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
SEED = 20261126
VOCABULARY = 96  # 0 is a new line, 1 to 95 are the printable characters of ASCII from the blank on
EPSILON = 1e-5
THETA = 10000.0


# ---------------------------------------------------------------- the texts


def texts(folder):
    """Token ids of all pages in their order: to train on, and every tenth piece of 1,024 to evaluate."""
    text = "".join(path.read_text() for path in sorted(folder.rglob("*.md")))
    ids = np.array([0 if c == "\n" else ord(c) - 31 for c in text if c == "\n" or " " <= c <= "~"], np.int64)
    pieces = [ids[i:i + 1024] for i in range(0, len(ids), 1024)]
    train = np.concatenate([p for i, p in enumerate(pieces) if i % 10 != 9])
    held_out = [p for i, p in enumerate(pieces) if i % 10 == 9 and len(p) == 1024]
    return train, held_out


# ---------------------------------------------------------------- the network and its gradients


class Shape:
    def __init__(self, width, layers, hidden, heads, groups):
        self.width, self.layers, self.hidden, self.heads, self.groups = width, layers, hidden, heads, groups
        self.size = width // heads


def first_weights(shape, random):
    def matrix(rows, columns):
        return random.normal(0, rows ** -0.5, (rows, columns)).astype("f4")

    keys = shape.groups * shape.size
    weights = {"embed": random.normal(0, 1, (VOCABULARY, shape.width)).astype("f4"),
               "norm": np.ones(shape.width, "f4"), "head": matrix(shape.width, VOCABULARY)}
    for i in range(shape.layers):
        weights.update({f"{i}.norm1": np.ones(shape.width, "f4"), f"{i}.norm2": np.ones(shape.width, "f4"),
                        f"{i}.q": matrix(shape.width, shape.width), f"{i}.k": matrix(shape.width, keys),
                        f"{i}.v": matrix(shape.width, keys), f"{i}.o": matrix(shape.width, shape.width) / 2,
                        f"{i}.gate": matrix(shape.width, shape.hidden), f"{i}.up": matrix(shape.width, shape.hidden),
                        f"{i}.down": matrix(shape.hidden, shape.width) / 2})
    return weights


def angles(length, size):
    rates = THETA ** (-np.arange(0, size, 2) / size)
    turns = np.arange(length)[:, None] * rates[None]
    turns = np.concatenate([turns, turns], 1)
    return np.cos(turns).astype("f4"), np.sin(turns).astype("f4")


def half_turned(x):
    half = x.shape[-1] // 2
    return np.concatenate([-x[..., half:], x[..., :half]], -1)


def half_turned_back(x):
    half = x.shape[-1] // 2
    return np.concatenate([x[..., half:], -x[..., :half]], -1)


def norm(x, gain):
    root = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)
    return x * root * gain, (x, root, gain)


def norm_back(d, kept):
    x, root, gain = kept
    inner = d * gain
    dx = root * inner - x * root ** 3 * (inner * x).mean(-1, keepdims=True)
    return dx, (d * x * root).reshape(-1, x.shape[-1]).sum(0)


def dense_back(d, x, weight):
    return d @ weight.T, x.reshape(-1, x.shape[-1]).T @ d.reshape(-1, d.shape[-1])


def loss_and_gradients(shape, w, ids, want_gradients=True):
    """Mean cross-entropy of the next token in nats, for ids [batch, length + 1]."""
    inputs, targets = ids[:, :-1], ids[:, 1:]
    batch, length = inputs.shape
    heads, groups, size = shape.heads, shape.groups, shape.size
    cosine, sine = angles(length, size)
    mask = np.triu(np.full((length, length), -1e9, "f4"), 1)

    def by_heads(x, count):
        return x.reshape(batch, length, count, size).transpose(0, 2, 1, 3)

    def together(x):
        return x.transpose(0, 2, 1, 3).reshape(batch, length, -1)

    kept = []
    x = w["embed"][inputs]
    for i in range(shape.layers):
        n1, k1 = norm(x, w[f"{i}.norm1"])
        q, k, v = by_heads(n1 @ w[f"{i}.q"], heads), by_heads(n1 @ w[f"{i}.k"], groups), by_heads(n1 @ w[f"{i}.v"], groups)
        q, k = q * cosine + half_turned(q) * sine, k * cosine + half_turned(k) * sine
        ks, vs = np.repeat(k, heads // groups, 1), np.repeat(v, heads // groups, 1)
        scores = q @ ks.transpose(0, 1, 3, 2) * np.float32(size ** -0.5) + mask
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        mixed = together(shares @ vs)
        y = x + mixed @ w[f"{i}.o"]
        n2, k2 = norm(y, w[f"{i}.norm2"])
        gate, up = n2 @ w[f"{i}.gate"], n2 @ w[f"{i}.up"]
        sigmoid = 1 / (1 + np.exp(-gate))
        inner = gate * sigmoid * up
        kept.append((n1, k1, q, ks, vs, shares, mixed, n2, k2, gate, up, sigmoid, inner))
        x = y + inner @ w[f"{i}.down"]
    n, k_last = norm(x, w["norm"])
    logits = n @ w["head"]
    logits -= logits.max(-1, keepdims=True)
    p = np.exp(logits)
    p /= p.sum(-1, keepdims=True)
    rows, columns = np.indices(targets.shape)
    loss = -np.log(p[rows, columns, targets] + 1e-30).mean()
    if not want_gradients:
        return loss, None

    g = {}
    d = p
    d[rows, columns, targets] -= 1
    d /= targets.size
    d, g["head"] = dense_back(d, n, w["head"])
    d, g["norm"] = norm_back(d, k_last)
    for i in reversed(range(shape.layers)):
        n1, k1, q, ks, vs, shares, mixed, n2, k2, gate, up, sigmoid, inner = kept[i]
        di, g[f"{i}.down"] = dense_back(d, inner, w[f"{i}.down"])
        dgate = di * up * (sigmoid + gate * sigmoid * (1 - sigmoid))
        dup = di * gate * sigmoid
        da, g[f"{i}.gate"] = dense_back(dgate, n2, w[f"{i}.gate"])
        db, g[f"{i}.up"] = dense_back(dup, n2, w[f"{i}.up"])
        dn, g[f"{i}.norm2"] = norm_back(da + db, k2)
        d = d + dn
        dm, g[f"{i}.o"] = dense_back(d, mixed, w[f"{i}.o"])
        dm = by_heads(dm, heads)
        dshares = dm @ vs.transpose(0, 1, 3, 2)
        dvs = shares.transpose(0, 1, 3, 2) @ dm
        dscores = shares * (dshares - (dshares * shares).sum(-1, keepdims=True)) * np.float32(size ** -0.5)
        dq, dks = dscores @ ks, dscores.transpose(0, 1, 3, 2) @ q
        dk = dks.reshape(batch, groups, -1, length, size).sum(2)
        dv = dvs.reshape(batch, groups, -1, length, size).sum(2)
        dq, dk = dq * cosine + half_turned_back(dq * sine), dk * cosine + half_turned_back(dk * sine)
        dn = 0
        for name, part in (("q", dq), ("k", dk), ("v", dv)):
            own, g[f"{i}.{name}"] = dense_back(together(part), n1, w[f"{i}.{name}"])
            dn = dn + own
        dn, g[f"{i}.norm1"] = norm_back(dn, k1)
        d = d + dn
    g["embed"] = np.zeros_like(w["embed"])
    np.add.at(g["embed"], inputs.reshape(-1), d.reshape(-1, shape.width))
    return loss, g


def train(shape, ids, steps, until, batch, length, state):
    """Adam with a rate that falls along a cosine; `steps` of a schedule of `until`."""
    random = np.random.RandomState(SEED + 1 + state["step"])
    w, first, second = state["weights"], state["first"], state["second"]
    for _ in range(steps):
        state["step"] += 1
        step = state["step"]
        rate = 4e-3 * min(1, step / 50) * (0.02 + 0.98 * (1 + np.cos(np.pi * step / until)) / 2)
        starts = random.randint(0, len(ids) - length - 1, batch)
        loss, g = loss_and_gradients(shape, w, np.stack([ids[s:s + length + 1] for s in starts]))
        scale = min(1, 1 / np.sqrt(sum(float((x * x).sum()) for x in g.values())))
        for name, x in g.items():
            x = x * np.float32(scale)
            first[name] = np.float32(0.9) * first[name] + np.float32(0.1) * x
            second[name] = np.float32(0.98) * second[name] + np.float32(0.02) * x * x
            move = first[name] / (1 - 0.9 ** step) / (np.sqrt(second[name] / (1 - 0.98 ** step)) + 1e-8)
            decay = 0.02 * w[name] if w[name].ndim == 2 else 0
            w[name] = (w[name] - rate * (move + decay)).astype("f4")
        if step % 50 == 0:
            print(f"step {step}: {loss:.3f}", flush=True)


# ---------------------------------------------------------------- ONNX


class Writer:
    """The network as exporters write it: small operators, names of layers in the names of nodes."""

    def __init__(self, shape, weights, longest, with_past):
        self.shape, self.longest, self.with_past = shape, longest, with_past
        self.nodes, self.initializers = [], []
        self.weights = weights
        self.inputs, self.outputs = [], []

    def node(self, op, inputs, output, outputs=None, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs or [output], name="/" + output, **attributes))
        return output

    def constant(self, name, values):
        if all(x.name != name for x in self.initializers):
            self.initializers.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def integers(self, *values):
        return self.constant("int_" + "_".join(map(str, values)).replace("-", "m"), np.array(values, np.int64))

    def linear(self, x, weight, output):
        return self.node("MatMul", [x, self.constant(weight, self.weights[weight])], output)

    def norm(self, x, gain, name):
        square = self.node("Pow", [x, self.constant("two", np.float32(2))], f"{name}/square")
        mean = self.node("ReduceMean", [square], f"{name}/mean", axes=[-1])
        above = self.node("Add", [mean, self.constant("epsilon", np.float32(EPSILON))], f"{name}/above")
        root = self.node("Sqrt", [above], f"{name}/root")
        normal = self.node("Div", [x, root], f"{name}/normal")
        return self.node("Mul", [normal, self.constant(gain, self.weights[gain])], name)

    def rotary(self, x, name):
        size = self.shape.size
        first = self.node("Slice", [x, self.integers(0), self.integers(size // 2), self.integers(-1)], f"{name}/first")
        second = self.node("Slice", [x, self.integers(size // 2), self.integers(size), self.integers(-1)], f"{name}/second")
        turned = self.node("Concat", [self.node("Neg", [second], f"{name}/neg"), first], f"{name}/turned", axis=-1)
        a = self.node("Mul", [x, "cosine"], f"{name}/cosine")
        b = self.node("Mul", [turned, "sine"], f"{name}/sine")
        return self.node("Add", [a, b], name)

    def heads(self, x, count, name):
        whole = self.node("Reshape", [x, self.integers(0, -1, count, self.shape.size)], f"{name}/split")
        return self.node("Transpose", [whole], name, perm=[0, 2, 1, 3])

    def repeated(self, x, name):
        heads, groups, size = self.shape.heads, self.shape.groups, self.shape.size
        one = self.node("Unsqueeze", [x, self.integers(2)], f"{name}/unsqueeze")
        many = self.node("Expand", [one, self.integers(1, 1, heads // groups, 1, 1)], f"{name}/expand")
        return self.node("Reshape", [many, self.integers(0, heads, -1, size)], name)

    def cached(self, x, layer, what, total):
        if not self.with_past:
            return x
        past, present = f"past_key_values.{layer}.{what}", f"present.{layer}.{what}"
        shape = ["batch", self.shape.groups, "past", self.shape.size]
        self.inputs.append(helper.make_tensor_value_info(past, TensorProto.FLOAT, shape))
        self.node("Concat", [past, x], present, axis=2)
        shape = ["batch", self.shape.groups, total, self.shape.size]
        self.outputs.append(helper.make_tensor_value_info(present, TensorProto.FLOAT, shape))
        return present

    def places(self):
        """Rows of the tables of angles, and what is added to scores: which keys each query sees."""
        cosine, sine = angles(self.longest, self.shape.size)
        extent = self.node("Shape", ["input_ids"], "extent")
        length = self.node("Gather", [extent, self.constant("one_int", np.int64(1))], "length", axis=0)
        zero, one = self.constant("zero_int", np.int64(0)), self.constant("one_int", np.int64(1))
        if self.with_past:
            past = self.node("Shape", ["past_key_values.0.key"], "past_extent")
            before = self.node("Gather", [past, self.constant("two_int", np.int64(2))], "past_length", axis=0)
            total = self.node("Add", [before, length], "total")
        else:
            before, total = zero, length
        queries = self.node("Range", [before, total, one], "query_places")
        keys = queries if not self.with_past else self.node("Range", [zero, total, one], "key_places")
        for name, table in (("cosine", cosine), ("sine", sine)):
            self.node("Gather", [self.constant(f"{name}_table", table), queries], name, axis=0)
        column = self.node("Unsqueeze", [queries, self.integers(1)], "query_column")
        later = self.node("Greater", [keys, column], "later")
        self.node("Where", [later, self.constant("least", np.float32(-3e4)), self.constant("zero", np.float32(0))], "mask")

    def write(self, path, weights_file):
        shape = self.shape
        self.inputs.append(helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"]))
        self.outputs.append(helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "sequence", VOCABULARY]))
        self.places()
        x = self.node("Gather", [self.constant("embed", self.weights["embed"]), "input_ids"], "embedded", axis=0)
        for i in range(shape.layers):
            at = f"layers.{i}"
            n = self.norm(x, f"{i}.norm1", f"{at}/input_norm")
            q = self.rotary(self.heads(self.linear(n, f"{i}.q", f"{at}/q_proj"), shape.heads, f"{at}/q"), f"{at}/q_rotated")
            k = self.rotary(self.heads(self.linear(n, f"{i}.k", f"{at}/k_proj"), shape.groups, f"{at}/k"), f"{at}/k_rotated")
            v = self.heads(self.linear(n, f"{i}.v", f"{at}/v_proj"), shape.groups, f"{at}/v")
            k, v = self.cached(k, i, "key", "total"), self.cached(v, i, "value", "total")
            keys = self.node("Transpose", [self.repeated(k, f"{at}/keys")], f"{at}/keys_turned", perm=[0, 1, 3, 2])
            products = self.node("MatMul", [q, keys], f"{at}/products")
            scaled = self.node("Mul", [products, self.constant("scale", np.float32(shape.size ** -0.5))], f"{at}/scaled")
            shares = self.node("Softmax", [self.node("Add", [scaled, "mask"], f"{at}/scores")], f"{at}/shares", axis=-1)
            mixed = self.node("MatMul", [shares, self.repeated(v, f"{at}/values")], f"{at}/mixed")
            turned = self.node("Transpose", [mixed], f"{at}/mixed_turned", perm=[0, 2, 1, 3])
            flat = self.node("Reshape", [turned, self.integers(0, -1, shape.width)], f"{at}/flat")
            x = self.node("Add", [x, self.linear(flat, f"{i}.o", f"{at}/o_proj")], f"{at}/attended")
            n = self.norm(x, f"{i}.norm2", f"{at}/post_norm")
            gate = self.linear(n, f"{i}.gate", f"{at}/gate_proj")
            silu = self.node("Mul", [gate, self.node("Sigmoid", [gate], f"{at}/sigmoid")], f"{at}/silu")
            inner = self.node("Mul", [silu, self.linear(n, f"{i}.up", f"{at}/up_proj")], f"{at}/inner")
            x = self.node("Add", [x, self.linear(inner, f"{i}.down", f"{at}/down_proj")], f"{at}/out")
        self.linear(self.norm(x, "norm", "last_norm"), "head", "logits")
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="train_decoder.py")
        model.ir_version = 8
        onnx.checker.check_model(model)
        onnx.external_data_helper.convert_model_to_external_data(model, location=weights_file, size_threshold=256)
        (path.parent / weights_file).unlink(missing_ok=True)
        onnx.save(model, path)


def write_samples(path, ids):
    with h5py.File(path, "w") as file:
        file.create_dataset("input_ids", data=ids, compression="gzip", compression_opts=9)


def write_steps(path, ids):
    """Eight sequences as samples of one token, with the next one as label."""
    with h5py.File(path, "w") as file:
        for name, part in (("input_ids", ids[:8, :64].reshape(-1, 1)), ("labels", ids[:8, 1:65].reshape(-1))):
            file.create_dataset(name, data=part, compression="gzip", compression_opts=9)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--state", type=Path, help="where training stands, to go on from")
    parser.add_argument("--steps", type=int, help="of this run")
    parser.add_argument("--until", type=int, default=2000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=160)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--groups", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="compare gradients with differences, and stop")
    given = parser.parse_args()
    shape = Shape(given.width, given.layers, given.hidden, given.heads, given.groups)
    ids, held_out = texts(given.docs)
    weights = first_weights(shape, np.random.RandomState(SEED))
    if given.check:
        some = ids[:66].reshape(2, 33)
        double = {k: v.astype("f8") for k, v in weights.items()}
        _, g = loss_and_gradients(shape, {k: v.copy() for k, v in double.items()}, some)
        for name in double:
            at = np.unravel_index(np.abs(g[name]).argmax(), g[name].shape)
            ends = []
            for step in (1e-4, -1e-4):
                moved = {k: v.copy() for k, v in double.items()}
                moved[name][at] += step
                ends.append(loss_and_gradients(shape, moved, some, False)[0])
            print(f"{name}: {g[name][at]:.6f} by the chain rule, {(ends[0] - ends[1]) / 2e-4:.6f} by differences")
        return
    zeros = {k: np.zeros_like(v) for k, v in weights.items()}
    state = {"step": 0, "weights": weights, "first": dict(zeros), "second": dict(zeros)}
    if given.state and given.state.exists():
        state = pickle.loads(given.state.read_bytes())
    steps = given.until - state["step"] if given.steps is None else min(given.steps, given.until - state["step"])
    train(shape, ids, steps, given.until, 8, 256, state)
    if given.state:
        given.state.write_bytes(pickle.dumps(state))
    losses = [loss_and_gradients(shape, state["weights"], p[None, :257], False)[0] for p in held_out]
    print(f"step {state['step']}: held out {np.mean(losses):.4f} nats, perplexity {np.exp(np.mean(losses)):.3f}")
    for name, with_past in (("decoder", False), ("decoder_with_past", True)):
        Writer(shape, state["weights"], 512, with_past).write(given.out / f"{name}.onnx", "decoder.weights")
    spread = [ids[i * 128:(i + 1) * 128] for i in np.linspace(0, len(ids) // 128 - 1, 64).astype(int)]
    for name, rows in (("calibration", np.stack(spread)),
                       ("evaluation", np.concatenate([p[:512].reshape(-1, 128) for p in held_out[:24]]))):
        write_samples(given.out / f"decoder_{name}.h5", rows)
        write_steps(given.out / f"decoder_{name}_steps.h5", rows)


if __name__ == "__main__":
    main()
