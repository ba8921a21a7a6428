#pragma once

#include "tare/graph.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// How an operator f behaves on storage values, bit for bit.
enum class AffineRule : std::uint8_t {
  kMoves,      ///< moves or picks elements: commutes with quantize and with dequantize, and its
               ///< result has the range of its operand, so one quantization point serves both
  kRectifies,  ///< commutes with both as well, but narrows the range
  kClamps,  ///< commutes with quantize (constants are rounded like any value); with dequantize
            ///< only where the constants lie on the grid
  kRounds,  ///< runs on storage values with parameters of its own on each side; rounds once
  kTabulates,  ///< as kRounds, and each result depends on one value: a table gives it
  kCompares,   ///< its results are positions, and storage values are ordered as expressed ones
};

struct AffineOp {
  std::string_view op;
  AffineRule rule;
  bool all_operands;  ///< every operand is data (Concat), or only the first one is
  std::string_view reason;
  /// Null: for every node of that operator. Else the row is for nodes for which this holds.
  bool (*applies)(const Graph&, const Node&) = nullptr;
};

/// The allow-list: the only operators that Quantize and Dequantize move through. Sorted by
/// name; of several rows of one name the first that applies counts.
std::span<const AffineOp> affine_ops();
/// Operators with a row of one of these rules, sorted.
std::vector<std::string> affine_ops(std::initializer_list<AffineRule>);
/// Null when the operator is not on the list.
const AffineOp* find_affine_op(const Graph&, const Node&);

/// Relu and Clip, which saturation may do the work of; they keep every element in its place.
bool is_activation(const Node&);

/// The axis of the first result that holds what `axis` of the first operand holds, each index
/// in the place of the same index; nothing where there is none. For operators that move
/// elements.
std::optional<int> axis_of_result(const Graph&, const Node&, int axis);
/// The other way round.
std::optional<int> axis_of_operand(const Graph&, const Node&, int axis);

}  // namespace tare
