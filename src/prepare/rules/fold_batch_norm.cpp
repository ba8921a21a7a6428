// BatchNormalization(layer(x)) -> layer(x) with other weights and bias
//
// An inference batch norm is one factor and one offset for each channel. A batch norm that does
// not follow a layer of constants stays.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/linear_layer.h"

#include <cmath>

namespace tare {
namespace {

std::variant<Patch, Refusal> fold_batch_norm(const Graph& graph, const Match& match) {
  const Node& norm = graph.node(match.root());
  const Node& layer = graph.node(match.node("layer"));
  if (channel_axis(graph, layer) != 1) {
    return Refusal{"the channels of '" + layer.name + "' are not on axis 1"};
  }
  const auto read = [&](std::size_t operand) {
    return graph.constant(norm.inputs[operand])->to_double();
  };
  const std::vector<double> gamma = read(1);
  const std::vector<double> beta = read(2);
  const std::vector<double> mean = read(3);
  const std::vector<double> variance = read(4);
  const auto channels = static_cast<std::size_t>(graph.type(norm.outputs[0]).shape[1]);
  for (const auto* numbers : {&gamma, &beta, &mean, &variance}) {
    if (numbers->size() != channels) {
      return Refusal{"it has not one number for each channel"};
    }
  }
  const double epsilon = norm.attributes.real("epsilon", 1e-5F);
  std::vector<double> scale;
  std::vector<double> shift;
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    if (!(variance[c] + epsilon > 0)) {
      return Refusal{"the variance of channel " + std::to_string(c) + " is not above 0"};
    }
    scale.push_back(gamma[c] / std::sqrt(variance[c] + epsilon));
    shift.push_back(beta[c] - mean[c] * scale[c]);
  }
  return folded_into(graph, layer, scale, shift, norm.outputs[0]);
}

bool is_inference(const Graph&, const Node& norm) {
  return norm.outputs.size() == 1 && norm.attributes.integer("training_mode", 0) == 0;
}

}  // namespace
}  // namespace tare

TARE_RULE(fold_batch_norm) {
  using namespace tare;
  return {.name = "fold_batch_norm",
          .summary = "moves a batch norm into the convolution or product before it",
          .benefit = 50,
          .pattern =
              [] {
                return op("BatchNormalization")
                    .with(linear_layer().as("layer"), constant(), constant(), constant(),
                          constant())
                    .where(is_inference, "uses stored statistics");
              },
          .rewrite = fold_batch_norm};
}
