#pragma once

#include "tare/node.h"

namespace tare {

struct Target;

// What engines want of a written graph beside its form; export_form() asks the target.

/// A written graph whose float operators are spelled as the target is fast at them. Where the
/// target quantizes float weights by itself, it is kept from that.
Graph with_float_spelling(Graph onnx, const Target&);

/// A graph of to_qdq() with biases in float32, for engines that quantize them by themselves.
Graph with_real_biases(Graph qdq);

/// A graph of to_qdq() in which weights whose integers fit into 4 bits are marked, by
/// parameters of 4 bits in their type: write_onnx() stores them as INT4 or UINT4, and
/// read_onnx() marks those that are. Where `only_blocks`, those in blocks.
Graph with_packed_weights(Graph qdq, bool only_blocks = false);

/// A written graph in which products of real values with constant weights in blocks are
/// ONNX Runtime's MatMulNBits, as far as it takes the size of the blocks and the integers have
/// zero points within 2, 4 or 8 bits. `accuracy_level` is that attribute; 0: the engine
/// chooses.
Graph with_n_bit_products(Graph onnx, std::int64_t accuracy_level);

/// A written graph in which products with float weights read values that are dequantized with a
/// scale for each channel, all of them equal, instead of one: the same values, but engines that
/// quantize such weights on their own account (ONNX Runtime from 1.20, per tensor) only do so
/// behind a single scale.
Graph with_repeated_scales(Graph onnx);

/// A graph of to_qdq() where a Relu or Clip between equal conversions comes before both, as
/// one, for engines that merge it with what computes its operand. Rounding keeps order, so
/// results are the same.
Graph merge_activations(Graph qdq);

/// A written graph in which images or volumes that convolutions in float computed are
/// transposed to channels last and flattened to rows before QuantizeLinear, and back behind it,
/// for engines whose integer kernels want that layout and whose float ones leave theirs cheaply
/// for it, but who do not find out by themselves. Elements only move.
Graph quantize_channels_last(Graph onnx);

/// A graph of to_qdq() in which a Pad between equal conversions pads storage values, for
/// engines that would run it in float. From opset 13 on, where that is defined.
Graph pad_storage(Graph qdq);

}  // namespace tare
