#pragma once

#include "tare/graph.h"
#include "tare/pattern.h"

#include <string>
#include <string_view>

namespace tare {

/// op(a, b) of two activations, each with parameters of its own, computed on expressed values.
inline QuantPattern elementwise(std::string_view name, const std::string& op,
                                std::string_view summary) {
  const AffineForm affine = [](AffineBuilder& builder, const Match& match) {
    return builder.apply(
        builder.graph().node(match.root()),
        {builder.activation(match.value("a")), builder.activation(match.value("b"))});
  };
  return {.name = name,
          .summary = summary,
          .follows_neighbours = true,
          .pattern = [op] { return tare::op(op).with(any().as("a"), any().as("b")); },
          .simulate = affine,
          .quantize = affine};
}

}  // namespace tare
