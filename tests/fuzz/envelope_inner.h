#pragma once

#include "tare/node.h"

#include "fuzz/envelope.h"

#include <functional>
#include <span>
#include <vector>

namespace tare::fuzz {

/// Whether both ends are the same.
bool is_exact(const Envelope&);

/// The results of a node on known integers and conditions. Throws std::logic_error where one is
/// not known.
std::vector<Envelope> exactly(const Node&, std::span<const Envelope> operands,
                              std::span<const TensorType> results);

/// The envelopes of a graph's results for those of its inputs.
using RunInner = std::function<std::vector<Envelope>(const Graph&, std::span<const Envelope>)>;

/// The results of an If, Loop or Scan: of both branches where the condition is not known, and
/// nothing is known of a loop that may go on or not.
std::vector<Envelope> envelopes_of_control(const Node&, std::span<const Envelope> operands,
                                           std::span<const TensorType> results,
                                           const RunInner&);

}  // namespace tare::fuzz
