#pragma once

#include "onnx/normalize/node_parts.h"

namespace tare {

// Definitions of operators of ONNX Runtime that are longer than a line. They are called as
// these operators are.

void expand_attention(NodeParts&);
void expand_multi_head_attention(NodeParts&);
void expand_group_query_attention(NodeParts&);
void expand_rotary_embedding(NodeParts&);

// runtime_blocks.cpp
void expand_bias_add(NodeParts&);
void expand_bias_split_gelu(NodeParts&);
void expand_group_norm(NodeParts&);
void expand_mat_mul_n_bits(NodeParts&);
void expand_skip_group_norm(NodeParts&);
void expand_trilu(NodeParts&);

/// Rotates pairs of elements along the last axis of [batch, heads, length, size]; `cosine` and
/// `sine` are [..., length, pairs]. Elements behind the pairs stay.
ValueId rotated(NodeParts&, const std::string& part, ValueId data, ValueId cosine, ValueId sine,
                bool interleaved);

}  // namespace tare
