#pragma once

#include "tare/node.h"

#include <cstddef>
#include <vector>

namespace tare {

/// Operators whose results are sums of products: Conv, ConvTranspose, Gemm, MatMul.
bool is_product(const Node&);
/// One whose result is the accumulators of an integer graph.
bool is_integer_product(const Graph&, const Node&);

/// What the sums of a product of such storage values are held in: i32, where a stated
/// accumulator or 8 bits of both bound them, i64 where factors have 16.
DType sum_type(DType x, DType w, const Accumulator&);

/// Which axes of a product's second operand, the weights, channels lie on.
struct WeightLayout {
  std::size_t output = 0;  ///< of the result; of ConvTranspose those of one group
  std::size_t input = 0;   ///< that are multiplied and added up; of Conv those of one group
};
/// Of weights of that rank: 2 or more, of Gemm 2.
WeightLayout weight_layout(const Node&, std::size_t rank);

/// Axis of its result along which the scales of a per-axis weight vary.
int channel_axis(const Node&, const Shape& result);

/// LSTM, GRU or RNN.
bool is_recurrent(const Node&);

/// Multiplications of one run of a product or a recurrent layer; 0 for other operators.
double multiplications(const Graph&, const Node&);
/// Of one run of the network.
double multiplications(const Graph&);

/// The channels of weights one after the other: of weight w it is w / outer * step + w / inner
/// % cycle, without its divisions. `outer` is a multiple of `inner`.
class ChannelWalk {
 public:
  ChannelWalk(std::size_t inner, std::size_t cycle, std::size_t outer, std::size_t step)
      : inner_(inner), cycle_(cycle), outer_(outer), step_(step) {}

  std::size_t channel() const { return base_ + channel_; }
  void next() {
    if (++in_inner_ == inner_) {
      in_inner_ = 0;
      channel_ = channel_ + 1 == cycle_ ? 0 : channel_ + 1;
    }
    if (++in_outer_ == outer_) {
      in_outer_ = 0;
      base_ += step_;
    }
  }

 private:
  std::size_t inner_;
  std::size_t cycle_;
  std::size_t outer_;
  std::size_t step_;
  std::size_t in_inner_ = 0;
  std::size_t in_outer_ = 0;
  std::size_t channel_ = 0;
  std::size_t base_ = 0;
};

/// To which result of a product (channel or column, of any position or row) each weight
/// belongs. Scales, zero points and biases of results repeat: those of result r are at r
/// modulo their number.
class WeightResults {
 public:
  /// Throws Error(kInvalidModel) for weights that do not fall into the node's groups.
  WeightResults(const Node&, const Shape& weights);

  std::size_t count() const { return count_; }      ///< results
  std::size_t weights() const { return weights_; }  ///< of one result
  std::size_t of(std::size_t weight) const {
    return weight / outer_ * results_of_outer_ + weight / inner_ % cycle_;
  }
  /// The result of each weight in turn.
  ChannelWalk walk() const { return {inner_, cycle_, outer_, results_of_outer_}; }
  /// How many weights from that one on are of the same result.
  std::size_t alike(std::size_t weight) const { return inner_ - weight % inner_; }
  /// Calls f(result, step, first, count) for all weights, in runs: those from `first` on are of
  /// `result`, or with a step of 1 each of another result, `result` and those behind it.
  template <class F>
  void for_each_run(F&& f) const {
    const std::size_t size = count_ * weights_;
    const bool alternate = inner_ == 1;
    const std::size_t run = alternate ? cycle_ : inner_;
    for (std::size_t first = 0; first < size; first += run) {
      f(of(first), std::size_t{alternate}, first, run);
    }
  }

 private:
  std::size_t count_ = 1;
  std::size_t weights_ = 0;
  std::size_t outer_ = 1;  ///< weights that have results of their own
  std::size_t results_of_outer_ = 0;
  std::size_t inner_ = 1;  ///< neighbours of one result; those of `cycle_` results alternate
  std::size_t cycle_ = 1;
};

/// The channel of its first operand that each weight of a product multiplies.
class WeightOperands {
 public:
  /// None of the extents is 0.
  WeightOperands(const Node&, const Shape& weights);

  /// Channels of the operand; 0 where the weights do not fall into the node's groups.
  std::size_t count() const { return count_; }
  /// The channel of each weight in turn.
  ChannelWalk walk() const { return {inner_, cycle_, outer_, cycle_}; }

 private:
  std::size_t count_ = 0;
  std::size_t inner_ = 1;
  std::size_t cycle_ = 1;
  std::size_t outer_ = 1;
};

/// The operands of a product on storage values.
struct ProductOperands {
  const Node* node = nullptr;
  const TensorType* x = nullptr;  ///< with parameters
  const TensorType* w = nullptr;
  const Tensor* weights = nullptr;  ///< storage values; null where they are computed
  const Tensor* bias = nullptr;     ///< int32; null where there is none
};

/// As tare::worst_case_accumulators, for each result; one for all where weights are computed.
std::vector<SumRange> worst_case_accumulators(const ProductOperands&);

}  // namespace tare
