#pragma once

#include "tare/node.h"

#include <map>
#include <string>
#include <vector>

namespace tare {

/// Keys or values that a decoder hands on from step to step, [batch, heads, length, size]: an
/// input, and the result that is it with new rows behind.
struct Cache {
  ValueId input;
  ValueId output;
};

/// In the order of the outputs. Real ones, as long as they are not stored as integers yet.
std::vector<Cache> find_caches(const Graph&);

/// Scales of what a cache holds, along an axis of it.
struct CacheScales {
  int axis = 3;
  std::vector<float> scales;
};

/// An integer graph whose caches, by the names of their outputs, are int8 outside: inputs and
/// outputs hold storage values, of which the new ones are rounded once, and what reads a cache
/// reads what they stand for.
Graph with_stored_caches(Graph integer, const std::map<std::string, CacheScales>&);

}  // namespace tare
