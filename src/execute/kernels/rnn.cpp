#include "execute/products/recurrent.h"

namespace tare {
namespace {

using Eigen::Index;

void step(const CellWeights& weights, const CellOptions& options, CellStep& s) {
  add_state(weights, s.gates.cols(), s);
  for (Index row = 0; row < s.hidden.rows(); ++row) {
    const float* x = s.from_input[static_cast<std::size_t>(row)];
    for (Index k = 0; k < s.hidden.cols() && x != nullptr; ++k) {
      s.hidden(row, k) = weights.activations[0](options.clipped(x[k] + s.gates(row, k)));
    }
  }
}

std::unique_ptr<Kernel> make_rnn(const KernelRequest& request) {
  return make_recurrent({.gates = 1, .activations = {"Tanh"}, .step = step}, request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(rnn) {
  return {.ops = {"RNN"}, .make = tare::make_rnn};
}
