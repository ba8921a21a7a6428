#pragma once

#include <cstdint>

namespace tare {

/// Kinds of nodes of one operator that an engine runs at different speed.
enum class NodeKind : std::uint8_t {
  kAny,
  kDepthwise,  ///< Conv: one input channel per group
  /// The same of sequences, or with a number of channels that 4, or 16, does not divide.
  kOddDepthwise,
  kRaggedDepthwise,
  kSequence,     ///< Conv: of operands [batch, channels, length]
  kVolume,       ///< Conv: of operands [batch, channels, depth, height, width]
  kGrouped,      ///< Conv: several groups of several input channels
  kFewChannels,  ///< Conv: fewer than 8 input channels per group
  kActivations,  ///< products: neither factor is constant
};

/// What an operator takes on one thread, in nanoseconds: `call`, however small it is; `work`
/// for each multiplication of a sum of products or element of another operator; `result` for
/// each result of a sum of products or pool, or step of a recurrent layer; `weight` for each
/// weight of a product. `gathered` for each element that a pool reads, or a convolution that is
/// not depthwise for a position; on integers `window` for each position and place in a window.
struct KernelCost {
  double call = 0;
  double work = 0;
  double result = 0;
  double weight = 0;
  double window = 0;
  double gathered = 0;
};

/// Nanoseconds of a Quantize or Dequantize that an engine does not merge with its neighbours.
struct ConversionCost {
  double call = 0;
  double element = 0;
  double dequantized = 0;  ///< per element of a Dequantize; 0: as `element`
  double layout = 0;  ///< per element and reader of values of rank 4, which change layout too
};

}  // namespace tare
