#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perplexity of decoders in ONNX Runtime, as they generate: whole sequences, or token by token with the cache fed back.

measure_decoder.py SEQUENCES.h5 FLOAT.onnx [OTHER.onnx...]   perplexity of each, and how far it is from the first one
measure_decoder.py SEQUENCES.h5 --steps STEPS.h5 LENGTH      the sequences as samples of one token, with the next as label

Files with inputs past_key_values.* run step by step. Needs onnxruntime, NumPy and h5py.
"""

import sys

import h5py
import numpy as np


def write_steps(sequences, path, length):
    """Of each sequence `length` steps: its tokens one after the other, and the one behind each as label."""
    with h5py.File(path, "w") as file:
        file.create_dataset("input_ids", data=sequences[:, :length].reshape(-1, 1))
        file.create_dataset("labels", data=sequences[:, 1:length + 1].reshape(-1))


def session_of(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def scores_of(session, tokens):
    """Logarithms of shares of every token but the last one, [length - 1, vocabulary]."""
    caches = [i for i in session.get_inputs() if i.name.startswith("past_key_values")]
    if not caches:
        scores = session.run(["logits"], {"input_ids": tokens[None, :-1]})[0][0]
    else:
        outputs = ["logits"] + [i.name.replace("past_key_values", "present") for i in caches]
        types = {"tensor(float)": np.float32, "tensor(int8)": np.int8}
        feeds = {i.name: np.zeros([1, i.shape[1], 0, i.shape[3]], types[i.type]) for i in caches}
        rows = []
        for token in tokens[:-1]:
            results = session.run(outputs, {"input_ids": np.array([[token]]), **feeds})
            rows.append(results[0][0, -1])
            feeds = dict(zip([i.name for i in caches], results[1:]))
        scores = np.stack(rows)
    scores = scores.astype(np.float64)
    scores -= scores.max(-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(-1, keepdims=True))


def main():
    with h5py.File(sys.argv[1]) as file:
        sequences = file["input_ids"][:]
    if sys.argv[2] == "--steps":
        write_steps(sequences, sys.argv[3], int(sys.argv[4]))
        return
    first = None
    for path in sys.argv[2:]:
        session = session_of(path)
        scores = [scores_of(session, tokens) for tokens in sequences]
        losses = [-s[np.arange(len(s)), t[1:]] for s, t in zip(scores, sequences)]
        perplexity = np.exp(np.mean(losses))
        first = first or (perplexity, scores)
        same = np.mean([a.argmax(-1) == b.argmax(-1) for a, b in zip(scores, first[1])])
        line = f"{path}: perplexity {perplexity:.4f}, {100 * (perplexity / first[0] - 1):+.2f} %, same token {100 * same:.2f} %"
        # Mean divergence from the first model by quarters of the sequences: whether errors grow.
        drift = np.mean([(np.exp(a) * (a - b)).sum(-1) for a, b in zip(first[1], scores)], axis=0)
        print(line + "; divergence by quarters " + " ".join(f"{q.mean():.4f}" for q in np.array_split(drift, 4)))


if __name__ == "__main__":
    main()
