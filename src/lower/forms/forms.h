#pragma once

#include "tare/node.h"

namespace tare {

Graph to_qdq(const Graph& integer);
/// Products and elementwise arithmetic between 8-bit storage values become QLinearConv,
/// QLinearMatMul, QGemm, QLinearAdd, ...; operators that move elements act on storage values. A
/// product whose sums stay real becomes QGemm without result parameters or
/// MatMulIntegerToFloat. What has no such operator, or not for these storage types, is written
/// as in to_qdq().
Graph to_qoperator(const Graph& integer);
/// Sums of products become ConvInteger and MatMulInteger with an Add for the bias; storage
/// values are made with Div, Round, Add, Clip and Cast, and read with Cast, Sub and Mul. There
/// are no operators of quantization and none outside of ONNX. Sums have each scale multiplied
/// on by itself, so that both can be read back. Throws Error(kInvalidConfig) that names all
/// values in blocks.
Graph to_integer_operators(const Graph& integer);

}  // namespace tare
