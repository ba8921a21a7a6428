#!/usr/bin/env python3
"""generate.py FOLDER: one folder a case with an operator of ONNX Runtime, its operands and what ONNX Runtime 1.21 computes.

Needs onnx, numpy and onnxruntime. The layout is that of the backend tests of ONNX. Names of cases begin with the operator.
"""
import os
import sys

import numpy as np
import onnx
import onnx.reference  # before onnxruntime, whose operators it would find twice
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(7)
TYPES = {np.dtype("float32"): TensorProto.FLOAT, np.dtype("int32"): TensorProto.INT32, np.dtype("int64"): TensorProto.INT64,
         np.dtype("uint8"): TensorProto.UINT8, np.dtype("bool"): TensorProto.BOOL}


def real(*shape):
    return random.standard_normal(shape).astype(np.float32)


def positive(*shape):
    return (random.random(shape) + 0.5).astype(np.float32)


def ids(high, *shape):
    return random.integers(0, high, shape).astype(np.int32)


def write(folder, name, op, operands, outputs=1, constants=(), domain="com.microsoft", definition=None, opset=17, by_onnx=False, definition_opset=None, **attributes):
    """Operands are arrays, or None for one that is absent; those in `constants` are initializers. `definition` are nodes that are run in place of
    the operator where ONNX Runtime has it for other processors only, or by another name; `by_onnx`: the reference implementation of ONNX is."""
    names = ["" if x is None else f"operand_{i}" for i, x in enumerate(operands)]
    results = [f"result_{i}" if isinstance(outputs, int) or i in outputs else "" for i in range(outputs if isinstance(outputs, int) else max(outputs) + 1)]
    node = helper.make_node(op, names, results, name="node", domain=domain, **attributes)
    fed = {n: x for i, (n, x) in enumerate(zip(names, operands)) if x is not None and i not in constants}
    graph = helper.make_graph(
        [node], name,
        [helper.make_tensor_value_info(n, TYPES[x.dtype], x.shape) for n, x in fed.items()],
        [helper.make_tensor_value_info(r, TensorProto.UNDEFINED, None) for r in results if r],
        [numpy_helper.from_array(operands[i], names[i]) for i in constants])
    for output in graph.output:
        output.ClearField("type")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=8 if opset < 20 else 10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    run = onnx.ModelProto()
    run.CopyFrom(model)
    if definition:
        del run.graph.node[:]
        run.graph.node.extend(definition)
        run.opset_import[0].version = definition_opset or min(opset, 22)
        run.ir_version = 10
    if by_onnx:
        for output in run.graph.output:
            output.type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
        found = onnx.reference.ReferenceEvaluator(run).run(None, fed)
    else:
        session = onnxruntime.InferenceSession(run.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = session.run(None, fed)
    for output, value in zip(graph.output, found):
        output.type.CopyFrom(helper.make_tensor_type_proto(TYPES[value.dtype], value.shape))
    del model.graph.output[:]
    model.graph.output.extend(graph.output)
    data = os.path.join(folder, name, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    onnx.save(model, os.path.join(folder, name, "model.onnx"))
    for kind, values in (("input", list(fed.items())), ("output", list(zip([r for r in results if r], found)))):
        for i, (value_name, value) in enumerate(values):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(value, value_name).SerializeToString())


def attention(folder):
    width, heads, batch, length = 8, 2, 2, 5
    data, weights, bias = real(batch, length, width), real(width, 3 * width), real(3 * width)
    mask = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], np.int32)
    write(folder, "Attention", "Attention", [data, weights, bias], constants=(1, 2), num_heads=heads)
    write(folder, "Attention_mask", "Attention", [data, weights, bias, mask], constants=(1, 2), num_heads=heads)
    write(folder, "Attention_mask_of_queries", "Attention",
          [data, weights, bias, (random.random((batch, length, length)) > 0.4).astype(np.int32)], constants=(1, 2), num_heads=heads)
    write(folder, "Attention_lengths", "Attention", [data, weights, bias, np.array([4, 2], np.int32)], constants=(1, 2), num_heads=heads)
    write(folder, "Attention_ends_and_starts", "Attention", [data, weights, bias, np.array([4, 5, 0, 2], np.int32)], constants=(1, 2), num_heads=heads)
    write(folder, "Attention_causal_past", "Attention", [data, weights, bias, None, real(2, batch, heads, 3, 4)], 2, constants=(1, 2),
          num_heads=heads, unidirectional=1)
    write(folder, "Attention_bias_and_scale", "Attention", [data, weights, bias, None, None, real(batch, heads, length, length)], constants=(1, 2),
          num_heads=heads, scale=0.3)
    write(folder, "Attention_widths", "Attention", [data, real(width, 20), real(20)], constants=(1, 2), num_heads=heads, qkv_hidden_sizes=[8, 8, 4])


def multi_head_attention(folder):
    width, heads, batch, length, keys = 8, 2, 2, 4, 6
    query, key, value = real(batch, length, width), real(batch, keys, width), real(batch, keys, width)
    write(folder, "MultiHeadAttention", "MultiHeadAttention", [query, key, value], num_heads=heads)
    write(folder, "MultiHeadAttention_bias", "MultiHeadAttention", [query, key, value, real(3 * width)], constants=(3,), num_heads=heads)
    write(folder, "MultiHeadAttention_mask", "MultiHeadAttention",
          [query, key, value, None, np.array([[1] * 4 + [0] * 2, [1] * 2 + [0] * 4], np.int32)], num_heads=heads)
    write(folder, "MultiHeadAttention_past", "MultiHeadAttention",
          [query, real(batch, length, width), real(batch, length, width), None, None, real(batch, heads, length, length + 3),
           real(batch, heads, 3, 4), real(batch, heads, 3, 4)], 3, num_heads=heads)
    write(folder, "MultiHeadAttention_cross", "MultiHeadAttention", [query, real(batch, heads, keys, 4), real(batch, heads, keys, 4)], num_heads=heads)
    write(folder, "MultiHeadAttention_causal", "MultiHeadAttention", [query, real(batch, length, width), real(batch, length, width)],
          num_heads=heads, unidirectional=1)


def caches(length, pairs):
    angles = np.outer(np.arange(length), 1 / 10.0 ** np.arange(pairs)).astype(np.float32)
    return np.cos(angles), np.sin(angles)


def rotary(folder):
    cosine, sine = caches(12, 4)
    places = np.array([[0, 1, 2], [4, 5, 7]], np.int64)
    write(folder, "RotaryEmbedding", "RotaryEmbedding", [real(2, 3, 16), places, cosine, sine], constants=(2, 3))
    write(folder, "RotaryEmbedding_by_heads", "RotaryEmbedding", [real(2, 2, 3, 8), places, cosine, sine], constants=(2, 3))
    write(folder, "RotaryEmbedding_interleaved", "RotaryEmbedding", [real(2, 3, 16), np.array([3], np.int64), cosine, sine], constants=(2, 3), interleaved=1)
    write(folder, "RotaryEmbedding_in_part", "RotaryEmbedding", [real(2, 3, 24), places, cosine, sine], constants=(2, 3), num_heads=2, rotary_embedding_dim=8)


def group_query_attention(folder):
    heads, groups, size, batch, length, past = 4, 2, 16, 1, 3, 2
    cosine, sine = caches(12, 8)

    def lengths(total):
        return np.full((batch,), total - 1, np.int32), np.array(total, np.int32)

    def operands(n):
        return [real(batch, n, heads * size), real(batch, n, groups * size), real(batch, n, groups * size)]
    write(folder, "GroupQueryAttention", "GroupQueryAttention", [*operands(length), None, None, *lengths(length)], 3, num_heads=heads, kv_num_heads=groups)
    write(folder, "GroupQueryAttention_past", "GroupQueryAttention",
          [*operands(1), real(batch, groups, past, size), real(batch, groups, past, size), *lengths(past + 1)], 3, num_heads=heads, kv_num_heads=groups)
    write(folder, "GroupQueryAttention_rotary", "GroupQueryAttention",
          [*operands(1), real(batch, groups, past, size), real(batch, groups, past, size), *lengths(past + 1), cosine, sine], 3, constants=(7, 8),
          num_heads=heads, kv_num_heads=groups, do_rotary=1)
    write(folder, "GroupQueryAttention_packed", "GroupQueryAttention",
          [real(batch, length, (heads + 2 * groups) * size), None, None, None, None, *lengths(length), cosine, sine], 3, constants=(7, 8),
          num_heads=heads, kv_num_heads=groups, do_rotary=1, rotary_interleaved=1)
    write(folder, "GroupQueryAttention_window", "GroupQueryAttention", [*operands(6), None, None, *lengths(6)], 3, num_heads=heads, kv_num_heads=groups,
          local_window_size=2)
    write(folder, "GroupQueryAttention_softcap", "GroupQueryAttention", [*operands(length), None, None, *lengths(length)], 3, num_heads=heads,
          kv_num_heads=groups, softcap=2.0, scale=0.4)


def normalizations(folder):
    gamma, beta, bias = positive(8), real(8), real(8)
    data, skip = real(2, 3, 8), real(2, 3, 8)
    write(folder, "SkipLayerNormalization", "SkipLayerNormalization", [data, skip, gamma, beta, bias], [0, 3], constants=(2, 3, 4), epsilon=1e-5)
    write(folder, "SkipLayerNormalization_plain", "SkipLayerNormalization", [data, real(3, 8), gamma], constants=(2,))
    write(folder, "SkipSimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization", [data, skip, gamma, bias], [0, 3], constants=(2, 3), epsilon=1e-5)
    write(folder, "SimplifiedLayerNormalization", "SimplifiedLayerNormalization", [data, gamma], constants=(1,), domain="", axis=-1, epsilon=1e-5)
    words, places, segments = real(20, 8), real(6, 8), real(2, 8)
    write(folder, "EmbedLayerNormalization", "EmbedLayerNormalization",
          [ids(20, 2, 4), ids(2, 2, 4), words, places, segments, gamma, beta, np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)], [0, 1, 2],
          constants=(2, 3, 4, 5, 6), epsilon=1e-5, mask_index_type=1)
    write(folder, "EmbedLayerNormalization_places", "EmbedLayerNormalization",
          [ids(20, 2, 4), None, words, places, None, gamma, beta, None, ids(6, 2, 4)], 2, constants=(2, 3, 5, 6), epsilon=1e-5)


def activations(folder):
    data = 3 * real(2, 3, 8)
    write(folder, "Gelu", "Gelu", [data])
    write(folder, "FastGelu", "FastGelu", [data])
    write(folder, "FastGelu_bias", "FastGelu", [data, real(8)], constants=(1,))
    write(folder, "BiasGelu", "BiasGelu", [data, real(8)], constants=(1,))
    write(folder, "QuickGelu", "QuickGelu", [data], alpha=1.5)


def products(folder):
    data, weight, bias = real(1, 3, 6, 6), real(4, 3, 3, 3), real(4)
    write(folder, "FusedConv", "FusedConv", [data, weight, bias], constants=(1, 2), activation="Relu", pads=[1, 1, 1, 1])
    write(folder, "FusedConv_sum", "FusedConv", [data, weight, bias, real(1, 4, 6, 6)], constants=(1, 2), activation="Relu", pads=[1, 1, 1, 1])
    write(folder, "FusedConv_leaky", "FusedConv", [data, weight, bias], constants=(1, 2), activation="LeakyRelu", activation_params=[0.2], strides=[2, 2])
    write(folder, "FusedConv_clip", "FusedConv", [data, weight], constants=(1,), activation="Clip", activation_params=[-1.0, 2.0])
    write(folder, "FusedConv_hard", "FusedConv", [data, weight], constants=(1,), activation="HardSigmoid", activation_params=[0.25, 0.4])
    write(folder, "FusedGemm", "FusedGemm", [real(3, 5), real(4, 5), real(4)], constants=(1, 2), transB=1, activation="LeakyRelu", activation_alpha=0.3)
    write(folder, "FusedMatMul", "FusedMatMul", [real(2, 5, 3), real(2, 4, 5)], alpha=0.5, transA=1, transB=1)
    write(folder, "FusedMatMul_batches", "FusedMatMul", [real(3, 2, 5), real(5, 2, 4)], transBatchA=1, transBatchB=1)
    write(folder, "TransposeMatMul", "TransposeMatMul", [real(2, 3, 5), real(2, 4, 5)], transB=1)
    convolution = {"pads": [1, 1, 1, 1], "strides": [2, 1]}
    write(folder, "NhwcConv", "NhwcConv", [real(1, 6, 5, 3), weight, bias], constants=(1, 2), **convolution, definition=[
        helper.make_node("Transpose", ["operand_0"], ["first"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["first", "operand_1", "operand_2"], ["product"], **convolution),
        helper.make_node("Transpose", ["product"], ["result_0"], perm=[0, 2, 3, 1])])


def pools(folder):
    data = real(2, 3, 7, 9)
    write(folder, "LpPool", "LpPool", [data], domain="", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    write(folder, "LpPool_third_power", "LpPool", [data], domain="", kernel_shape=[3, 3], p=3)
    write(folder, "LpPool_dilated", "LpPool", [data], domain="", opset=18, kernel_shape=[2, 2], dilations=[2, 3])
    write(folder, "GlobalLpPool", "GlobalLpPool", [data], domain="", p=1)
    regions = np.array([[0, 0, 0, 8, 6], [1, 2, 1, 5, 4], [1, 3, 3, 3, 3], [0, -2, 1, 12, 3]], np.float32)
    write(folder, "MaxRoiPool", "MaxRoiPool", [data, regions], domain="", pooled_shape=[2, 3])
    write(folder, "MaxRoiPool_scaled", "MaxRoiPool", [data, regions * np.array([1, 2, 2, 2, 2], np.float32)], domain="",
          pooled_shape=[3, 2], spatial_scale=0.5)


def images(folder):
    extents = lambda *values: np.array(values, np.int64)
    write(folder, "CenterCropPad", "CenterCropPad", [real(5, 8, 3), extents(8, 5, 3)], constants=(1,), domain="", opset=18)
    write(folder, "CenterCropPad_axes", "CenterCropPad", [real(2, 3, 8, 5), extents(5, 8)], constants=(1,), domain="", opset=18, axes=[-2, 3])
    write(folder, "Col2Im", "Col2Im", [real(2, 3 * 6, 12), extents(5, 5), extents(2, 3)], constants=(1, 2), domain="", opset=18)
    write(folder, "Col2Im_strides", "Col2Im", [real(1, 2 * 4, 9), extents(6, 7), extents(2, 2)], constants=(1, 2), domain="", opset=18,
          strides=[2, 2], pads=[0, 0, 0, 0])
    write(folder, "Col2Im_pads_dilations", "Col2Im", [real(1, 2 * 4, 25), extents(5, 5), extents(2, 2)], constants=(1, 2), domain="", opset=18,
          pads=[1, 1, 1, 1], dilations=[2, 2])
    theta = real(2, 2, 3)
    write(folder, "AffineGrid", "AffineGrid", [theta, extents(2, 3, 4, 5)], constants=(1,), domain="", opset=20)
    write(folder, "AffineGrid_corners", "AffineGrid", [theta, extents(2, 3, 4, 5)], constants=(1,), domain="", opset=20, align_corners=1)
    write(folder, "AffineGrid_volume", "AffineGrid", [real(1, 3, 4), extents(1, 1, 2, 3, 4)], constants=(1,), domain="", opset=20)
    data, weight = real(2, 4, 6, 7), real(6, 4, 3, 3)
    deform = {"domain": "", "opset": 19, "by_onnx": True}
    write(folder, "DeformConv", "DeformConv", [data, weight, real(2, 18, 6, 7), real(6)], constants=(1, 3), pads=[1, 1, 1, 1], **deform)
    write(folder, "DeformConv_mask", "DeformConv", [data, real(6, 2, 3, 3), real(2, 36, 3, 4), None, positive(2, 18, 3, 4)], constants=(1,),
          pads=[1, 1, 1, 1], strides=[2, 2], group=2, offset_group=2, **deform)
    write(folder, "DeformConv_dilated", "DeformConv", [data, real(6, 4, 2, 2), real(2, 8, 4, 5)], constants=(1,), dilations=[2, 2], **deform)
    write(folder, "DFT", "DFT", [real(2, 6, 4, 1), None, np.array(1, np.int64)], constants=(2,), domain="", opset=20, by_onnx=True)


def cache_rows(folder):
    """TensorScatter of opset 24, by what ONNX Runtime 1.21 had already."""
    cache, update, places = real(2, 3, 6, 4), real(2, 3, 2, 4), np.array([1, 5])
    for mode in ("linear", "circular"):
        first = places if mode == "circular" else np.array([1, 4])
        rows = (first[:, None, None, None] + np.arange(2)[None, None, :, None]) % 6
        rows = np.broadcast_to(rows, update.shape).astype(np.int64)
        write(folder, f"TensorScatter_{mode}", "TensorScatter", [cache, update, first], domain="", opset=24, mode=mode, definition=[
            helper.make_node("Constant", [], ["rows"], value=numpy_helper.from_array(rows)),
            helper.make_node("ScatterElements", ["operand_0", "rows", "operand_1"], ["result_0"], axis=2)])


def packed(folder):
    """Attention with operands in one, and weights in blocks."""
    batch, length, heads, size = 2, 5, 2, 4
    data = real(batch, length, heads, 3, size)
    def parts(operand, count, names):
        return [helper.make_node("Split", [operand], [n + "_5" for n in names], axis=3),
                helper.make_node("Constant", [], ["flat"], value=numpy_helper.from_array(np.array([0, 0, heads * size])))] + [
                    helper.make_node("Reshape", [n + "_5", "flat"], [n]) for n in names]
    product = lambda query, key, value: [helper.make_node("MultiHeadAttention", [query, key, value], ["result_0"], domain="com.microsoft", num_heads=heads)]
    write(folder, "MultiHeadAttention_packed", "MultiHeadAttention", [data], num_heads=heads, definition=parts("operand_0", 3, "qkv") + product("q", "k", "v"))
    write(folder, "MultiHeadAttention_packed_keys", "MultiHeadAttention", [real(batch, 3, heads * size), real(batch, length, heads, 2, size)], num_heads=heads,
          definition=parts("operand_1", 2, "kv") + product("operand_0", "k", "v"))
    for bits in (4, 8):
        depth, columns, block = 40, 6, 16
        blocks = -(-depth // block)
        integers = random.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)
        scales = positive(columns * blocks)
        zeros = random.integers(0, 256, columns * -(-blocks * bits // 8)).astype(np.uint8)
        attributes = {"K": depth, "N": columns, "bits": bits, "block_size": block}
        def definition(zero_points):
            """ONNX Runtime 1.21 has 4 bits only."""
            if bits == 4:
                return None
            weight = (integers.astype(np.float32) - zero_points) * scales.reshape(columns, blocks, 1)
            weight = weight.reshape(columns, -1)[:, :depth].T
            return [helper.make_node("Constant", [], ["weight"], value=numpy_helper.from_array(weight.astype(np.float32))),
                    helper.make_node("MatMul", ["operand_0", "weight"], ["result_0"])]
        write(folder, f"MatMulNBits_{bits}", "MatMulNBits", [real(3, depth) / 16, integers, scales], constants=(1, 2), definition=definition(128), **attributes)
        write(folder, f"MatMulNBits_{bits}_zero_points", "MatMulNBits", [real(3, depth) / 16, integers, scales, zeros], constants=(1, 2, 3), **attributes,
              definition=definition(zeros.astype(np.float32).reshape(columns, -1, 1)[:, :blocks]))


def diffusion(folder):
    """Operators that ONNX Runtime has for GPUs only, by their definitions."""
    data, bias, skip = real(2, 5, 8), real(8), real(2, 5, 8)
    node = helper.make_node
    write(folder, "BiasAdd", "BiasAdd", [data, bias, skip], constants=(1,), definition=[
        node("Add", ["operand_0", "operand_1"], ["biased"]), node("Add", ["biased", "operand_2"], ["result_0"])])
    write(folder, "BiasSplitGelu", "BiasSplitGelu", [data, bias], constants=(1,), definition=[
        node("Add", ["operand_0", "operand_1"], ["biased"]), node("Split", ["biased"], ["left", "right"], axis=-1),
        node("Gelu", ["right"], ["gate"], domain="com.microsoft"), node("Mul", ["left", "gate"], ["result_0"])])
    image, scale, offset = real(2, 4, 3, 8), positive(8), real(8)
    def group_norm(operand, activated):
        return [node("Transpose", [operand], ["first"], perm=[0, 3, 1, 2]),
                node("GroupNormalization", ["first", "operand_1", "operand_2"], ["normal"], num_groups=4, epsilon=1e-3),
                node("Transpose", ["normal"], ["last" if activated else "result_0"], perm=[0, 2, 3, 1])] + (
                    [node("Sigmoid", ["last"], ["gate"]), node("Mul", ["last", "gate"], ["result_0"])] if activated else [])
    attributes = {"groups": 4, "epsilon": 1e-3, "definition_opset": 21}
    write(folder, "GroupNorm", "GroupNorm", [image, scale, offset], constants=(1, 2), activation=0, definition=group_norm("operand_0", False), **attributes)
    write(folder, "GroupNorm_silu", "GroupNorm", [image, scale, offset], constants=(1, 2), activation=1, definition=group_norm("operand_0", True), **attributes)
    write(folder, "SkipGroupNorm", "SkipGroupNorm", [image, scale, offset, real(2, 4, 3, 8), real(8)], 2, constants=(1, 2, 4), activation=1, **attributes,
          definition=[node("Add", ["operand_0", "operand_3"], ["skipped"]), node("Add", ["skipped", "operand_4"], ["result_1"])] + group_norm("result_1", True))
    write(folder, "Trilu", "Trilu", [real(2, 4, 5), np.array(1, np.int64)], constants=(1,), upper=0)


def newer_modes(folder):
    data = real(1, 2, 9, 8)
    extents = lambda *values: np.array(values, np.int64)
    smaller = [data, None, None, extents(1, 2, 4, 3)]
    for mode in ("linear", "cubic"):
        write(folder, f"Resize_antialias_{mode}", "Resize", smaller, constants=(3,), domain="", opset=18, mode=mode, antialias=1)
        write(folder, f"Resize_antialias_{mode}_inside", "Resize", smaller, constants=(3,), domain="", opset=18, mode=mode, antialias=1, exclude_outside=1)
    write(folder, "Resize_antialias_one_way", "Resize", [data, None, None, extents(1, 2, 18, 3)], constants=(3,), domain="", opset=18, mode="linear", antialias=1)
    write(folder, "Pad_wrap", "Pad", [real(2, 3, 4), extents(0, 2, 3, 1, 1, 4)], constants=(1,), domain="", opset=19, mode="wrap")


def bits(folder):
    for kind, left, right in (("", ids(1 << 30, 3, 4), ids(1 << 30, 4)), ("_bytes", ids(256, 3, 4).astype(np.uint8), ids(256, 3, 1).astype(np.uint8))):
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            write(folder, op + kind, op, [left, right], domain="", opset=18)
        write(folder, "BitwiseNot" + kind, "BitwiseNot", [left], domain="", opset=18)


def newer_attention(folder):
    """Attention and RotaryEmbedding of opset 23, by what ONNX Runtime 1.21 had already."""
    newer = {"domain": "", "opset": 23}
    query, key, value = real(2, 5, 8), real(2, 7, 8), real(2, 7, 8)
    def by_heads(**attributes):
        return [helper.make_node("MultiHeadAttention", ["operand_0", "operand_1", "operand_2"], ["result_0"], domain="com.microsoft", num_heads=2, **attributes)]
    heads = {"q_num_heads": 2, "kv_num_heads": 2}
    write(folder, "Attention23", "Attention", [query, key, value], definition=by_heads(), **heads, **newer)
    write(folder, "Attention23_scale", "Attention", [query, key, value], definition=by_heads(scale=0.3), scale=0.3, **heads, **newer)
    write(folder, "Attention23_causal", "Attention", [query, real(2, 5, 8), real(2, 5, 8)], definition=by_heads(unidirectional=1), is_causal=1, **heads, **newer)
    write(folder, "Attention23_mask", "Attention", [query, key, value, real(2, 2, 5, 7)], **heads, **newer, definition=[
        helper.make_node("MultiHeadAttention", ["operand_0", "operand_1", "operand_2", "", "", "operand_3"], ["result_0"], domain="com.microsoft", num_heads=2)])
    keeps = random.random((5, 7)) > 0.4
    keeps[:, 0] = True
    shares = [helper.make_node("Constant", [], ["factor"], value=numpy_helper.from_array(np.array(0.5, np.float32))),
              helper.make_node("Constant", [], ["kept"], value=numpy_helper.from_array(np.array(0, np.float32))),
              helper.make_node("Constant", [], ["left_out"], value=numpy_helper.from_array(np.array(-np.inf, np.float32)))]
    def by_products(keys, values):
        return [helper.make_node("Transpose", [keys], ["turned"], perm=[0, 1, 3, 2]), helper.make_node("MatMul", ["operand_0", "turned"], ["products"]),
                helper.make_node("Mul", ["products", "factor"], ["scaled"]), helper.make_node("Where", ["operand_3", "kept", "left_out"], ["term"]),
                helper.make_node("Add", ["scaled", "term"], ["scores"]), helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
                helper.make_node("MatMul", ["shares", values], ["result_0"])]
    write(folder, "Attention23_by_heads", "Attention", [real(2, 4, 5, 4), real(2, 4, 7, 4), real(2, 4, 7, 4), keeps], **newer,
          definition=shares + by_products("operand_1", "operand_2"))
    copies = [helper.make_node("Constant", [], ["which"], value=numpy_helper.from_array(np.array([0, 0, 1, 1])))]
    def grown(operand, past, name):
        return [helper.make_node("Concat", [past, operand], [f"result_{name}"], axis=2), helper.make_node("Gather", [f"result_{name}", "which"], [f"all_{name}"], axis=1)]
    write(folder, "Attention23_groups_past", "Attention", [real(2, 4, 5, 4), real(2, 2, 3, 4), real(2, 2, 3, 4), keeps, real(2, 2, 4, 4), real(2, 2, 4, 4)], 3, **newer,
          definition=shares + copies + grown("operand_1", "operand_4", 1) + grown("operand_2", "operand_5", 2) + by_products("all_1", "all_2"))
    angles = 3 * random.random((10, 2)).astype(np.float32)
    places = random.integers(0, 10, (2, 5))
    definition = lambda **attributes: [helper.make_node("RotaryEmbedding", ["operand_0", "operand_3", "operand_1", "operand_2"], ["result_0"],
                                                        domain="com.microsoft", **attributes)]
    tables = [np.cos(angles), np.sin(angles), places]
    write(folder, "RotaryEmbedding23", "RotaryEmbedding", [real(2, 3, 5, 4)] + tables, constants=(1, 2), definition=definition(), **newer)
    write(folder, "RotaryEmbedding23_interleaved", "RotaryEmbedding", [real(2, 3, 5, 4)] + tables, constants=(1, 2), interleaved=1,
          definition=definition(interleaved=1), **newer)
    write(folder, "RotaryEmbedding23_in_part", "RotaryEmbedding", [real(2, 5, 18)] + tables, constants=(1, 2), num_heads=3, rotary_embedding_dim=4,
          definition=definition(num_heads=3, rotary_embedding_dim=4), **newer)


if __name__ == "__main__":
    for family in (attention, multi_head_attention, rotary, group_query_attention, normalizations, activations, products,
                   pools, images, newer_modes, bits, newer_attention, packed, diffusion, cache_rows):
        # Each family begins anew, so that a change of one leaves the files of the others.
        random = np.random.default_rng(7)
        family(sys.argv[1])
