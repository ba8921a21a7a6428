#pragma once

#include "tare/graph.h"

#include "fuzz/choices.h"

#include <map>
#include <string>

namespace tare::fuzz {

/// A float network and samples for its inputs: first axis = sample.
struct Network {
  Graph graph;
  std::map<std::string, Tensor> samples;
};

/// A small valid network of operators that are quantized, ones that go along and ones that stay
/// in float; numbers may be extreme.
Network any_network(Choices&);

}  // namespace tare::fuzz
