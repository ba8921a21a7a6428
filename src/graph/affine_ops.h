#pragma once

#include <span>
#include <string_view>

namespace tare {

/// How an operator f behaves on storage values.
enum class AffineRule {
  /// Moves elements, or picks them by order: f(quantize(x)) == quantize(f(x)) bit for bit, and
  /// the
  /// result has the parameters of its data operand.
  kSameParams,
  /// Runs on storage values with parameters of its own on each side; rounds once.
  kOwnParams,
};

struct AffineOp {
  std::string_view op;
  AffineRule rule;
  /// Every operand is data (Concat), or only the first one is.
  bool all_operands = false;
  /// Carries a range as it is, so the point of its result may sit on its operand instead. False
  /// for what narrows the range on purpose (Relu, Clip): their result keeps a point of its own.
  bool shares_range = false;
  std::string_view reason;
};

/// The allow-list: the only operators that Quantize and Dequantize move through. Sorted by
/// name.
std::span<const AffineOp> affine_ops();
/// Null when the operator is not on the list.
const AffineOp* find_affine_op(std::string_view op);

}  // namespace tare
