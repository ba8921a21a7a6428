#pragma once

#include "tare/tensor.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <onnx/onnx_pb.h>

namespace tare {

/// Nothing for element types the toolkit does not have (strings, complex and 8-bit floats,
/// ...).
std::optional<DType> dtype_from_onnx(std::int32_t data_type);
/// The same; throws Error(kUnsupported) with the type's name in ONNX.
DType required_dtype(std::int32_t data_type);
std::int32_t onnx_data_type(DType);

/// INT4 and UINT4, which only constants have: i8 and u8, whose integers use 4 bits.
std::optional<DType> dtype_of_packed(std::int32_t data_type);

/// Reads any of the ways a tensor may be stored. Nothing is allocated before the stored bytes
/// were found to be as many as the shape says. External data is read from `folder`, and from
/// nowhere else. Throws Error with an empty `where`.
Tensor to_tensor(const onnx::TensorProto&, const std::filesystem::path& folder);

/// The file in `folder` that holds the elements; nothing where the model itself does, or the
/// path leads elsewhere.
std::optional<std::filesystem::path> external_file(const onnx::TensorProto&,
                                                   const std::filesystem::path& folder);

/// Type, shape and raw_data; the name stays as it is.
void fill_proto(const Tensor&, onnx::TensorProto&);
/// Type and shape only.
void fill_header(const Tensor&, onnx::TensorProto&);
/// INT4 or UINT4, whose bytes are those of packed().
void fill_packed_header(const Tensor& integers, onnx::TensorProto&);
/// The lowest 4 bits of i8 or u8, two in each byte, as u8.
Tensor packed(const Tensor& integers);

}  // namespace tare
