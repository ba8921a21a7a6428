// LSTM of ONNX (Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997; forget gates and
// peepholes are of later work), and that of ONNX Runtime with weights of 8 bits.
#include "execute/products/dynamic_recurrent.h"

namespace tare {
namespace {

using Eigen::Index;

/// Gates in the order input, output, forget, candidate; peepholes without the last. The cell
/// clips sums, not its state, as ONNX Runtime.
void step(const CellWeights& weights, const CellOptions& options, CellStep& s) {
  const Index hidden = s.hidden.cols();
  add_state(weights, s.gates.cols(), s);
  const Activation& f = weights.activations[0];
  const Activation& g = weights.activations[1];
  const Activation& h = weights.activations[2];
  for (Index row = 0; row < s.hidden.rows(); ++row) {
    const float* x = s.from_input[static_cast<std::size_t>(row)];
    if (x == nullptr) {
      continue;
    }
    for (Index k = 0; k < hidden; ++k) {
      float& cell = s.cell(row, k);
      const auto sum = [&](Index gate) {
        const float all = x[gate * hidden + k] + s.gates(row, gate * hidden + k);
        const bool peeps = weights.peepholes != nullptr && gate < 3;
        return options.clipped(peeps ? all + weights.peepholes[gate * hidden + k] * cell : all);
      };
      const float input = f(sum(0));
      const float forget = options.couples_gates ? 1 - input : f(sum(2));
      cell = forget * cell + input * g(sum(3));
      s.hidden(row, k) = f(sum(1)) * h(cell);  // which peeps at the new state
    }
  }
}

std::unique_ptr<Kernel> make_lstm(const KernelRequest& request) {
  const Cell cell{.gates = 4, .activations = {"Sigmoid", "Tanh", "Tanh"}, .step = step};
  return request.node->op == "LSTM" ? make_recurrent(cell, request)
                                    : make_dynamic_recurrent(cell, request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(lstm) {
  return {.ops = {"LSTM", "DynamicQuantizeLSTM"}, .make = tare::make_lstm};
}
