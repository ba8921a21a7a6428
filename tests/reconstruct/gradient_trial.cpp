#include "reconstruct/gradient_trial.h"

#include "tare/execute.h"

#include "reconstruct/gradients.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {

Shape random_shape(Random& random, std::size_t least, std::size_t most) {
  return random.integers(
      static_cast<std::size_t>(
          random.integer(static_cast<std::int64_t>(least), static_cast<std::int64_t>(most))),
      1, 5);
}

Tensor numbers(Random& random, Shape shape, float low, float high,
               const std::vector<float>& kinks) {
  Tensor result(DType::kFloat32, std::move(shape));
  for (float& x : result.mutable_view<float>()) {
    const auto is_near = [&](float kink) { return std::abs(x - kink) < 0.05F; };
    do {
      const auto place = static_cast<float>(random.integer(0, 10000)) / 10000;
      x = low + (high - low) * place;
      x = random.coin() ? -x : x;
    } while (std::any_of(kinks.begin(), kinks.end(), is_near));
  }
  return result;
}

Tensor positive(Random& random, Shape shape, float low, float high) {
  Tensor result = numbers(random, std::move(shape), low, high);
  for (float& x : result.mutable_view<float>()) {
    x = std::abs(x);
  }
  return result;
}

Tensor distinct(Random& random, Shape shape) {
  Tensor result(DType::kFloat32, std::move(shape));
  const auto values = result.mutable_view<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.05F * (static_cast<float>(i) - static_cast<float>(values.size()) / 2);
  }
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(
        values[i - 1],
        values[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
  }
  return result;
}

Shape narrowed(Random& random, Shape shape) {
  for (std::int64_t& extent : shape) {
    extent = random.integer(0, 2) == 0 ? 1 : extent;
  }
  const auto dropped = static_cast<std::ptrdiff_t>(
      random.integer(0, static_cast<std::int64_t>(shape.size()) - 1));
  shape.erase(shape.begin(), shape.begin() + dropped);
  return shape;
}

namespace {

double weighted_sum(const Tensor& result, const Tensor& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < result.view<float>().size(); ++i) {
    sum += static_cast<double>(result.view<float>()[i]) *
           static_cast<double>(weights.view<float>()[i]);
  }
  return sum;
}

}  // namespace

double deviation(const Trial& trial, Random& random) {
  const Executable forward(trial.graph);
  Graph graph = trial.graph;
  const ValueId result = graph.outputs()[0];
  std::vector<ValueId> of;
  for (const ValueId input : graph.inputs()) {
    if (graph.type(input).dtype == DType::kFloat32) {
      of.push_back(input);
    }
  }
  const Tensor weights = numbers(random, graph.type(result).shape, 0.5F, 1);
  const ValueId weight = graph.add_input("weights", graph.type(result));
  graph.set_outputs(add_gradients(graph, std::vector{result}, std::vector{weight}, of));
  graph.erase_unused();
  verify(graph);
  std::vector<Tensor> inputs = trial.inputs;
  inputs.push_back(weights);
  const std::vector<Tensor> gradients = Executable(graph).run(inputs);

  std::vector<Tensor> above = trial.inputs;
  std::vector<Tensor> below = trial.inputs;
  double expected = 0;
  double magnitude = 0;
  std::size_t next = 0;
  for (std::size_t k = 0; k < trial.inputs.size(); ++k) {
    if (trial.inputs[k].dtype() != DType::kFloat32) {
      continue;
    }
    EXPECT_EQ(gradients[next].shape(), trial.inputs[k].shape());
    const auto gradient = gradients[next++].view<float>();
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const float direction = random.coin() ? 1.0F : -1.0F;
      above[k].mutable_view<float>()[i] += direction * kStep;
      below[k].mutable_view<float>()[i] -= direction * kStep;
      expected += static_cast<double>(gradient[i] * direction);
      magnitude += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
    }
  }
  const double difference = (weighted_sum(forward.run(above)[0], weights) -
                             weighted_sum(forward.run(below)[0], weights)) /
                            (2 * static_cast<double>(kStep));
  return std::abs(difference - expected) / std::sqrt(std::max(magnitude, 1e-12));
}

}  // namespace tare::test
