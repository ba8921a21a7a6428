#pragma once

#include "onnx/builder.h"

namespace tare {

// Rules too long for the table in normalize.cpp. Each takes a node in the form of the opsets it
// is listed for there.

/// Up to opset 6 the second operand of two was broadcast where `broadcast` said so, along axes
/// from `axis` on.
void broadcast_as_numpy(Draft&, GraphBuilder&);
/// Up to opset 6 slopes of PRelu were those of channels.
void slope_by_channel(Draft&, GraphBuilder&);
/// Softmax and its kin flattened everything from `axis` on up to opset 12.
void flatten_softmax(Draft&, GraphBuilder&);
/// Upsample, and Resize of opset 10.
void to_resize(Draft&, GraphBuilder&);
/// Empty tensors stood for absent operands in opset 11.
void drop_empty_resize_operands(Draft&, GraphBuilder&);
/// `axes` and the attributes of opset 18 and 19.
void resize_all_axes(Draft&, GraphBuilder&);
/// The operand `axes` of opset 18.
void pad_all_axes(Draft&, GraphBuilder&);
void reduce_axes_to_attribute(Draft&, GraphBuilder&);
void split_evenly(Draft&, GraphBuilder&);
/// GroupNormalization with `scale` and `bias` per group (opset 18) or per channel (opset 21).
void group_to_instance_normalization(Draft&, GraphBuilder&);
/// BatchNormalization in training mode: by the mean and variance of the data itself, from which
/// the running ones follow. The last node of what it becomes is the draft's.
void train_batch_norm(Draft&, GraphBuilder&);
/// Mish: x * tanh(softplus(x)).
void expand_mish(Draft&, GraphBuilder&);
/// Swish of opset 24: x * sigmoid(alpha * x).
void expand_swish(Draft&, GraphBuilder&);
/// CenterCropPad of opset 18 by Slice and Pad.
void expand_center_crop_pad(Draft&, GraphBuilder&);
/// Col2Im of opset 18 by a transposed convolution that puts each pixel at its place.
void expand_col2im(Draft&, GraphBuilder&);
/// AffineGrid of opset 20: a product with the places of all points.
void expand_affine_grid(Draft&, GraphBuilder&);
/// The axis of DFT is an operand from opset 20 on.
void dft_axis_to_attribute(Draft&, GraphBuilder&);
/// TensorScatter of opset 24, which writes new rows into a cache, by ScatterElements.
void expand_tensor_scatter(Draft&, GraphBuilder&);
/// Of opset 23; those of ONNX Runtime are in runtime_attention.cpp.
void expand_newer_attention(Draft&, GraphBuilder&);
void expand_newer_rotary_embedding(Draft&, GraphBuilder&);
/// RMSNormalization of opset 23: x / sqrt(mean(x^2) + epsilon) * scale, from an axis on.
void expand_rms_normalization(Draft&, GraphBuilder&);
/// What QuantizeLinear and DequantizeLinear gained in opset 19, 21 and 23.
void drop_newer_quantization(Draft&, GraphBuilder&);

/// Throws Error(kUnsupported) unless the integer attribute has this value; removes it.
void expect_and_drop(Draft&, std::string_view attribute, std::int64_t value);

}  // namespace tare
