#pragma once

#include "tare/quant_table.h"
#include "tare/simulate.h"

#include "reconstruct/blocks.h"
#include "simulate/fake_quantized.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// Values of a network in all runs.
using RunValues = std::map<ValueId, std::vector<Tensor>>;

/// A network in real values up to its scores (up_to_scores()), with exact constants and a
/// FakeQuantize at each point, of which a table makes what quantization computes. The simulated
/// graph must outlive it.
class FloatNetwork {
 public:
  explicit FloatNetwork(const SimulatedGraph&);

  const SimulatedGraph& simulated() const { return simulated_; }
  const Graph& graph() const { return exact_.graph; }
  /// The point that a constant, a weight or bias, or the parameters of a FakeQuantize are for;
  /// null of others.
  const QuantPoint* point_of(ValueId) const;
  bool is_range(ValueId input) const { return ranges_.contains(input); }
  /// The parameters of a FakeQuantize by a table: none, so that values pass, where the point is
  /// not in it.
  Tensor range(ValueId input, const QuantTable&) const;
  /// A constant by a table.
  Tensor constant(ValueId, const QuantTable&) const;

  /// The results of a block from its sources, by a table.
  RunValues run(const Block&, const RunValues& sources, const QuantTable&, int threads) const;

 private:
  const SimulatedGraph& simulated_;
  FakeQuantizedGraph exact_;
  std::map<ValueId, std::string> points_;
  std::map<ValueId, std::string> ranges_;
};

/// Fewer than 8.
inline bool has_few_bits(const QuantSpec& spec) {
  return spec.bits != 0 && spec.bits < 8;
}

/// What of a table is enabled.
bool is_enabled(const QuantTable&, const std::string& point);

}  // namespace tare
