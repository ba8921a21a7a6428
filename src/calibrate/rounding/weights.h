#pragma once

#include "tare/calibrator.h"
#include "tare/node.h"
#include "tare/quant_table.h"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// What a calibrator answers may be anybody's. Throws Error(kInvalidConfig) unless both ends
/// are finite and in their order.
void require_range(const Range&, const std::string& calibrator, const std::string& point);

/// The range that has all of them, of which there is one at least.
Range cover(std::span<const Range>);

/// Parameters of a constant, chosen from its own values (one histogram per channel where per
/// axis, per block where in blocks; none where the calibrator needs none).
PointResult choose_constant(const SimulatedGraph&, const Tensor&, const QuantPoint&,
                            const Calibrator&, bool needs_histogram);

/// What calibrators are told of a point.
CalibrationPoint calibration_point(const SimulatedGraph&, const QuantPoint&);

/// Target::weight_pair_limit for the weights that `reader` multiplies activations of 8 bits by;
/// 0 for others, which that kernel does not take.
int pair_limit(const SimulatedGraph&, NodeId reader);

/// The order in which x86 integer kernels multiply the weights of one output.
struct KernelOrder {
  bool convolution = false;     ///< by kernel position, then input channel; else as stored
  std::size_t output_axis = 0;  ///< axis of the weights along which outputs vary
};
/// Nothing for a node whose kernel does not work on pairs: depthwise convolutions, and
/// transposed ones, for which such engines have none on integers.
std::optional<KernelOrder> kernel_order(const Graph&, const Node&);

/// The places in a constant of weights that such a kernel adds two and two, of all outputs.
std::vector<std::array<std::size_t, 2>> kernel_pairs(const Tensor&, const KernelOrder&);

/// Widens scales until every |q[2i] + q[2i+1]| <= limit, with the weights of each output in
/// kernel order. Kernels without VNNI add such pairs of products in int16, where 255 * 128
/// still fits. Returns the channels whose scale changed; nothing is done to storage other than
/// symmetric i8. Powers of two stay such where the spec asks for them.
std::vector<int> limit_pairs(const Tensor&, const KernelOrder&, int limit, const QuantSpec&,
                             QuantParams&);

/// Widens the weight scale of every channel whose bias would not fit int32 at input scale *
/// weight scale; see limit_pairs. Returns those channels.
std::vector<int> fit_bias(const Tensor& bias, float input_scale, const QuantSpec&,
                          QuantParams& weight);

}  // namespace tare
