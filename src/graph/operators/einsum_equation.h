#pragma once

#include "tare/tensor.h"

#include <string>
#include <vector>

namespace tare {

/// What an equation of Einsum says about operands of certain shapes: a label for each axis.
/// Axes that an ellipsis stands for have the labels -1, -2, ... from the right, and letters
/// have their codes.
struct EinsumEquation {
  std::vector<std::vector<int>> operands;
  std::vector<int> result;

  /// Extents of the labels `of`, each the one of all axes with that label, where 1 is repeated.
  /// Throws Error(kInvalidModel) where axes of one label differ, or no axis has it.
  Shape extents(const std::vector<int>& of, const std::vector<Shape>& operands) const;
};

/// In the notation of numpy: "bhqd,bhkd->bhqk", "...ii->...i", "ij,jk". Throws
/// Error(kInvalidModel) where it is none, or does not fit the operands.
EinsumEquation parse_einsum(const std::string& equation, const std::vector<Shape>& operands);

}  // namespace tare
