#pragma once

#include "tare/quant_table.h"

#include "reconstruct/adam.h"
#include "reconstruct/adaround.h"
#include "reconstruct/float_network.h"

#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// The gradients of LearnedParameters::constants(), then of ranges().
using Gradients = std::vector<Tensor>;

/// Where learning is on its way.
struct Moment {
  double progress = 0;   ///< from 0 to 1
  bool decided = false;  ///< the integers of weights stay as they are
};

/// What is learned of a block: weights and their scales, biases, and the steps of activations
/// that nothing before the block reads. Begins with what is in a table.
class LearnedParameters {
 public:
  LearnedParameters(const FloatNetwork&, const Block&, const QuantTable&, int threads);

  bool empty() const { return weights_.empty() && biases_.empty() && ranges_.empty(); }
  std::size_t weights() const { return weight_count_; }
  /// Weights and biases, as values of the network.
  std::vector<ValueId> constants() const;
  /// Parameters of FakeQuantize, as inputs of the network.
  const std::vector<ValueId>& ranges() const { return range_values_; }

  /// Fills in what constants() are now, tensors of their shapes.
  void express(Moment, std::span<Tensor> constants) const;
  /// What an input of the network that is_range() is now, be it learned or not.
  Tensor range(ValueId) const;
  /// A step against the sum of gradients, each times `factor`, of an error whose unit is 1 for
  /// each weight.
  void step(Moment, std::span<const Gradients>, float factor);

  /// The table with all that, and accumulators that follow from it.
  QuantTable table() const;

 private:
  /// Weights on their way to integers.
  struct Weight {
    AdaptiveRounding rounding;
    std::vector<std::array<std::size_t, 2>> pairs;  ///< that a kernel adds in 16 bits
    int limit = 0;                                  ///< of their sums; 0: none
  };
  /// A bias of an accumulator.
  struct Bias {
    std::string point;
    std::vector<float> exact;
    std::vector<float> values;
    std::vector<float> units;  ///< that rates are relative to
    Adam adam;
  };
  /// The step of an activation.
  struct Step {
    std::string point;
    Tensor parameters;  ///< as FakeQuantize reads them
    float first_scale;
    float logarithm = 0;
    Adam adam{1};
  };

  bool is_own(ValueId) const;
  void add_weight(ValueId constant);
  void add_bias(ValueId constant);
  void add_range(ValueId input);
  bool is_free(const QuantPoint&) const;
  bool learns_scale(std::size_t weight) const;
  template <class F>
  void for_each_chunk(std::size_t size, F&& f) const;

  const FloatNetwork& network_;
  const QuantTable& table_;
  int threads_;
  std::set<NodeId> nodes_;
  std::vector<ValueId> weight_values_;
  std::vector<Weight> weights_;
  std::size_t weight_count_ = 0;
  std::vector<ValueId> bias_values_;
  std::vector<Bias> biases_;
  std::vector<ValueId> range_values_;
  std::vector<Step> ranges_;
};

}  // namespace tare
