#pragma once

#include "tare/graph.h"
#include "tare/tensor.h"

#include "support/graphs.h"
#include "support/random/random.h"

#include <functional>
#include <string>
#include <vector>

namespace tare::test {

constexpr float kStep = 1.0F / 128;

/// A graph whose float inputs have gradients, and values for its inputs.
struct Trial {
  Graph graph;
  std::vector<Tensor> inputs;

  ValueId input(Tensor values) {
    const std::string name = "x" + std::to_string(inputs.size());
    inputs.push_back(std::move(values));
    return graph.add_input(name, typed(inputs.back().dtype(), inputs.back().shape()));
  }
  ValueId constant(Tensor values) {
    return graph.add_constant(graph.unique_name("c"), std::move(values));
  }
  ValueId integers(const std::vector<std::int64_t>& values) {
    return constant(Tensor::of({static_cast<std::int64_t>(values.size())}, values));
  }
  void result(const std::string& op, std::vector<ValueId> operands, Shape shape,
              Attributes attributes = {}) {
    graph.set_outputs({add(graph, op, std::move(operands), std::move(shape), attributes)});
  }
};

Shape random_shape(Random& random, std::size_t least, std::size_t most);

/// Numbers of both signs of magnitudes in [low, high], none within 0.05 of one of `kinks`.
Tensor numbers(Random& random, Shape shape, float low = 0.1F, float high = 2,
               const std::vector<float>& kinks = {});

Tensor positive(Random& random, Shape shape, float low = 0.3F, float high = 2);

/// All different by more than a step.
Tensor distinct(Random& random, Shape shape);

/// A shape that broadcasts to that one.
Shape narrowed(Random& random, Shape shape);

/// How far the gradients are from the differences, relative to what they would be by chance.
double deviation(const Trial& trial, Random& random);

using Make = std::function<void(Random&, Trial&)>;

/// Makes nodes of random shapes of one operator.
struct OperatorTrials {
  std::string op;
  Make make;
};

std::vector<OperatorTrials> element_trials();   ///< elementwise operators and activations
std::vector<OperatorTrials> layer_trials();     ///< products, pools, normalizations, reductions
std::vector<OperatorTrials> movement_trials();  ///< what only moves elements

}  // namespace tare::test
