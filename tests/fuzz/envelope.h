#pragma once

#include "tare/graph.h"
#include "tare/quant_table.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace tare::fuzz {

/// Between which numbers each element lies. What is not known lies between the infinities.
struct Envelope {
  Tensor low;
  Tensor high;
};

/// What may make two versions of a network differ.
enum class Difference {
  kTies,      ///< storage values: sums in float that fall next to a half go either way
  kRounding,  ///< expressed values: one version rounds to storage values and one does not
  kMerged,    ///< storage values: one version rounds once where one does twice in succession
};

/// Results of a graph of bind() by interval arithmetic: those of every version of it that
/// differs in that way only. Sums of n terms in float32 are off by no more than n + 3 roundings
/// of the sum of the magnitudes of these terms.
std::vector<Envelope> envelopes(const Graph& bound, const QuantTable&, const RequantizeMode&,
                                Difference, std::span<const Tensor> inputs);

/// The first element of an f32 tensor that does not lie between them, in words; empty where all
/// do. NaN is taken to, as its bounds are not known either.
std::string first_outside(const Envelope&, const Tensor&);

}  // namespace tare::fuzz
