#pragma once

#include "tare/node.h"

#include <set>
#include <string>

namespace tare {

/// An integer graph whose tables of embeddings, which nodes of these names look rows up in, are
/// int8 with a scale for each row, to the nearest integer: rows are looked up as they are
/// stored, and multiplied by their scales. Tables that something else reads stay as they are.
Graph with_stored_embeddings(Graph integer, const std::set<std::string>& lookups);

}  // namespace tare
