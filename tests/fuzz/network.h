#pragma once

#include "tare/dataset.h"
#include "tare/graph.h"

#include "fuzz/choices.h"
#include "fuzz/drawing.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tare::fuzz {

/// A float network and what its inputs are in some runs of it, but for those that are state.
struct Network {
  Graph graph;
  std::map<std::string, std::vector<Tensor>> samples;  ///< of several shapes in open networks
  std::map<std::string, std::string> state;  ///< input: output that it is a step later
};

/// A small valid network of operators that are quantized, ones that go along and ones that stay
/// in float, and of what else the kind says.
Network any_network(Choices&, const NetworkKind&);

/// The kind of that number, from 0 to 15. 0 has nothing of its own.
NetworkKind kind_of(std::int64_t number);

/// The samples as the library takes them.
std::unique_ptr<Dataset> samples_of(const Network&);
/// Leaves out those that a graph, as which the network was read, does not take: because it had
/// to bind what the network leaves open, or was read as another network than it is for these.
void leave_out_others(Network&, const Graph& read);

/// Lets a network that is being drawn grow by a layer of its kind, if the choices allow it.
void draw_step(Drawing&);

}  // namespace tare::fuzz
