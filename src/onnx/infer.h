#pragma once

#include "tare/node.h"

#include <span>
#include <string>
#include <vector>

namespace tare {

/// Constants and known values of up to this many elements take part in shape inference.
constexpr std::int64_t kMostKnownElements = 4096;

/// One operand as inference sees it; an absent one has no type.
struct KnownOperand {
  const TensorType* type = nullptr;
  const Tensor* data = nullptr;  ///< null when computed from samples
};

struct InferenceRequest {
  const std::string& name;
  const std::string& op;
  const Attributes& attributes;
  std::vector<KnownOperand> operands;
  std::size_t results = 1;
};

/// Whether there is an operator of that name in opset 17, or one of those few that are younger.
bool is_onnx_op(const std::string& op);
/// Results that may not be left out.
std::size_t required_results(const std::string& op);

/// Checks a node against the rules of opset 17 and infers the types of its results with the
/// onnx library. Throws Error with an empty `where`: kInvalidModel for a broken rule,
/// kUnsupported for results that have no static tensor type.
std::vector<TensorType> infer_types(const InferenceRequest&);
/// The shapes alone, for nodes of any stage: operators may have attributes and element types
/// that ONNX does not give them.
std::vector<Shape> infer_shapes(const InferenceRequest&);

}  // namespace tare
