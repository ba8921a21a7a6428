// Losses that networks were trained with and exporters leave in: NegativeLogLikelihoodLoss and
// SoftmaxCrossEntropyLoss of ONNX. Linear in the scores; sums are in double.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tare {
namespace {

/// What becomes of the losses of all elements.
enum class Together { kNone, kSum, kMean };

/// Scores are [batch, classes, places...], targets [batch, places...].
struct Loss {
  std::size_t batch = 0;
  std::size_t classes = 0;
  std::size_t places = 1;
  Together together = Together::kMean;
  std::optional<std::int64_t> ignored{};  ///< a target that costs nothing
  bool has_weights = false;               ///< one for each class
  bool takes_logarithm = false;           ///< of the softmax of scores, before anything else
};

Loss loss_of(const KernelRequest& request) {
  const Shape& scores = required(request, 0).shape();
  if (scores.size() < 2) {
    throw Error(ErrorCode::kInvalidModel, "", "scores are " + to_string(scores))
        .expected("[batch, classes, ...]");
  }
  Shape targets = scores;
  targets.erase(targets.begin() + 1);
  expect_shape(required(request, 1), targets);
  const std::string together = request.attributes().text("reduction", "mean");
  if (together != "none" && together != "sum" && together != "mean") {
    throw Error(ErrorCode::kInvalidModel, "", "reduction is '" + together + "'")
        .expected("none, sum or mean");
  }
  Loss loss{.batch = static_cast<std::size_t>(scores[0]),
            .classes = static_cast<std::size_t>(scores[1]),
            .places = static_cast<std::size_t>(
                element_count(Shape(scores.begin() + 2, scores.end()))),
            .together = together == "none"  ? Together::kNone
                        : together == "sum" ? Together::kSum
                                            : Together::kMean,
            .has_weights = request.has_input(2),
            .takes_logarithm = request.node->op == "SoftmaxCrossEntropyLoss"};
  if (request.attributes().has("ignore_index")) {
    loss.ignored = request.attributes().integer("ignore_index");
  }
  if (loss.has_weights) {
    expect_shape(request.inputs[2], {scores[1]});
  }
  expect_shape(request.outputs[0], loss.together == Together::kNone ? targets : Shape{});
  if (request.outputs.size() > 1 && request.outputs[1]) {
    expect_shape(request.outputs[1], scores);
  }
  return loss;
}

/// Logarithms of the softmax over classes.
void take_logarithms(const Loss& loss, const float* scores, float* y) {
  for (std::size_t i = 0; i < loss.batch * loss.places; ++i) {
    const std::size_t first = i / loss.places * loss.classes * loss.places + i % loss.places;
    const auto at = [&](std::size_t c) { return first + c * loss.places; };
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t c = 0; c < loss.classes; ++c) {
      largest = std::max(largest, scores[at(c)]);
    }
    double sum = 0;
    for (std::size_t c = 0; c < loss.classes; ++c) {
      sum += std::exp(static_cast<double>(scores[at(c)]) - static_cast<double>(largest));
    }
    for (std::size_t c = 0; c < loss.classes; ++c) {
      y[at(c)] = static_cast<float>(static_cast<double>(scores[at(c)]) -
                                    static_cast<double>(largest) - std::log(sum));
    }
  }
}

template <class Target>
void run(const Loss& loss, const Buffers& buffers) {
  const float* logarithms = input<float>(buffers, 0);
  if (loss.takes_logarithm) {
    const bool is_result = buffers.outputs.size() > 1 && buffers.outputs[1] != nullptr;
    auto* y = is_result ? output<float>(buffers, 1) : reinterpret_cast<float*>(buffers.scratch);
    take_logarithms(loss, logarithms, y);
    logarithms = y;
  }
  double sum = 0;
  double weights = 0;
  for (std::size_t i = 0; i < loss.batch * loss.places; ++i) {
    const auto target = static_cast<std::int64_t>(input<Target>(buffers, 1)[i]);
    double weight = 0;
    double each = 0;
    if (target != loss.ignored) {
      const auto c = static_cast<std::size_t>(
          checked_index(target, static_cast<std::int64_t>(loss.classes)));
      weight = loss.has_weights ? static_cast<double>(input<float>(buffers, 2)[c]) : 1.0;
      const std::size_t at =
          (i / loss.places * loss.classes + c) * loss.places + i % loss.places;
      each = -static_cast<double>(logarithms[at]) * weight;
    }
    sum += each;
    weights += weight;
    if (loss.together == Together::kNone) {
      output<float>(buffers, 0)[i] = static_cast<float>(each);
    }
  }
  if (loss.together != Together::kNone) {
    const double whole = loss.together == Together::kMean ? sum / weights : sum;
    *output<float>(buffers, 0) = static_cast<float>(whole);
  }
}

std::unique_ptr<Kernel> make_losses(const KernelRequest& request) {
  const Loss loss = loss_of(request);
  for (const Operand& operand : {request.inputs[0], request.outputs[0]}) {
    if (operand.dtype() != DType::kFloat32) {
      return nullptr;
    }
  }
  const std::size_t scratch =
      loss.takes_logarithm ? count_of(request.inputs[0]) * sizeof(float) : 0;
  return dispatch(Indices{}, request.inputs[1].dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([loss](const Buffers& buffers) { run<T>(loss, buffers); }, scratch);
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(losses) {
  return {.ops = {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"},
          .make = tare::make_losses};
}
