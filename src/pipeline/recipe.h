#pragma once

#include "tare/config.h"
#include "tare/node.h"

#include <set>
#include <string>

namespace tare {

/// A configuration with what a recipe adds to it.
struct AppliedRecipe {
  Config config;
  std::string text;  ///< what it is and why; empty where there is none
};

/// The configured recipe, or that of the kind of network that it is if the configuration leaves
/// it open. What the configuration says wins: entries of `layers:` come after those of the
/// recipe, and numbers of bits and sizes of blocks stay.
AppliedRecipe with_recipe(const Graph& prepared, const Config&);

/// Whether the network is a language model that generates: scores behind a token do not depend
/// on later ones, which is tried on made-up tokens, or, where it takes one at a time, inputs
/// are kept in front of what it computes.
bool is_decoder(const Graph&);

/// The nodes that look rows up by the tokens of a language model.
std::set<std::string> lookups_of_tokens(const Graph&);

}  // namespace tare
