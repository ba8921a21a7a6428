#pragma once

#include "tare/simulate.h"

#include <string>
#include <string_view>
#include <vector>

namespace tare {

struct Statistics;

/// Why such a node stays in float, for people.
inline constexpr std::string_view kDividesBySmall =
    "steps of one size make 0 of small numbers, which are divided by or get a logarithm";

/// Whether the graph divides by a computed value, takes the logarithm of one, or raises one to
/// a negative power.
bool has_divisors(const Graph&);

/// Whether a value that is divided by, gets a logarithm or is raised to a negative power has a
/// point, or one that such a value is made of by operators that keep small numbers small.
bool has_quantized_divisors(const SimulatedGraph&);

/// Names of the nodes that compute or read such a value, where the smallest magnitude that was
/// observed of it is less than the step that its range would have. With that value on integers
/// the network may compute infinities, as behind the variance of a normalization or the
/// spectrum of a recording. The statistics are collect()'s of the simulated graph.
std::vector<std::string> nodes_at_small_divisors(const SimulatedGraph&, const Statistics&);

}  // namespace tare
