#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tare {

/// How an operator f behaves on storage values, bit for bit.
enum class AffineRule : std::uint8_t {
  kMoves,      ///< moves or picks elements: commutes with quantize and with dequantize, and its
               ///< result has the range of its operand, so one quantization point serves both
  kRectifies,  ///< commutes with both as well, but narrows the range
  kClamps,  ///< commutes with quantize (the bounds are rounded like any value); with dequantize
            ///< only where the bounds lie on the grid
  kRounds,  ///< runs on storage values with parameters of its own on each side; rounds once
};

struct AffineOp {
  std::string_view op;
  AffineRule rule;
  bool all_operands;  ///< every operand is data (Concat), or only the first one is
  std::string_view reason;
};

/// The allow-list: the only operators that Quantize and Dequantize move through. Sorted by
/// name.
std::span<const AffineOp> affine_ops();
/// Null when the operator is not on the list.
const AffineOp* find_affine_op(std::string_view op);

}  // namespace tare
