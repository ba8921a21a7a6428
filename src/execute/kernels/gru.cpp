// GRU of ONNX (Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for
// Statistical Machine Translation", 2014). The reset gate comes before the product with the
// state as in the paper, or behind it (linear_before_reset), where one product serves all
// gates.
#include "execute/products/recurrent.h"

namespace tare {
namespace {

using Eigen::Index;

/// What the state gives to the candidate when it is reset before the product.
void add_reset_state(const CellWeights& weights, CellStep& s) {
  const Index hidden = s.hidden.cols();
  auto sums = s.gates.rightCols(hidden);
  sums.matrix().noalias() =
      s.candidate.matrix() * weights.of_state.bottomRows(hidden).matrix().transpose();
  if (weights.bias != nullptr) {
    sums.rowwise() += ConstRows(weights.bias + 2 * hidden, 1, hidden).row(0);
  }
}

/// Gates in the order update, reset, candidate.
void step(const CellWeights& weights, const CellOptions& options, CellStep& s) {
  const Index hidden = s.hidden.cols();
  const bool linear = options.linear_before_reset;
  add_state(weights, (linear ? 3 : 2) * hidden, s);
  const Activation& f = weights.activations[0];
  const Activation& g = weights.activations[1];
  const auto from_input = [&](Index row) {
    return s.from_input[static_cast<std::size_t>(row)];
  };
  for (Index row = 0; row < s.hidden.rows(); ++row) {
    const float* x = from_input(row);
    for (Index k = 0; k < 2 * hidden && x != nullptr; ++k) {
      s.gates(row, k) = f(options.clipped(x[k] + s.gates(row, k)));
    }
    s.candidate.row(row) = s.gates.row(row).segment(hidden, hidden) * s.hidden.row(row);
  }
  if (!linear) {
    add_reset_state(weights, s);
  }
  for (Index row = 0; row < s.hidden.rows(); ++row) {
    const float* x = from_input(row);
    for (Index k = 0; k < hidden && x != nullptr; ++k) {
      const float of_state = s.gates(row, 2 * hidden + k);
      const float reset = linear ? s.gates(row, hidden + k) * of_state : of_state;
      const float candidate = g(options.clipped(x[2 * hidden + k] + reset));
      const float update = s.gates(row, k);
      s.hidden(row, k) = (1 - update) * candidate + update * s.hidden(row, k);
    }
  }
}

std::unique_ptr<Kernel> make_gru(const KernelRequest& request) {
  return make_recurrent({.gates = 3, .activations = {"Sigmoid", "Tanh"}, .step = step},
                        request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(gru) {
  return {.ops = {"GRU"}, .make = tare::make_gru};
}
