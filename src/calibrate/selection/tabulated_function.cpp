#include "calibrate/selection/tabulated_function.h"

#include "tare/error.h"
#include "tare/execute.h"

#include "graph/operators/activation_function.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace tare {
namespace {

/// What the operators compute of some numbers.
std::vector<float> results_of(const Graph& graph, const ElementwiseFunction& function,
                              ValueId value, Tensor numbers) {
  const TensorType type{
      .dtype = DType::kFloat32, .shape = numbers.shape(), .quant = {}, .point = {}};
  Graph copy;
  std::map<ValueId, ValueId> own;
  own.emplace(value, copy.add_constant("x", std::move(numbers)));
  for (const NodeId id : function.operators) {
    const Node& node = graph.node(id);
    std::vector<ValueId> operands;
    for (const ValueId input : node.inputs) {
      if (input && !own.contains(input)) {
        const float number = graph.constant(input)->view<float>()[0];
        own.emplace(input, copy.add_constant("number " + std::to_string(own.size()),
                                             Tensor::scalar(number)));
      }
      operands.push_back(input ? own.at(input) : ValueId());
    }
    const NodeId id_of_copy =
        copy.add_node("", node.op, std::move(operands),
                      {{"result " + std::to_string(own.size()), type}}, node.attributes);
    own.emplace(node.outputs[0], copy.node(id_of_copy).outputs[0]);
  }
  copy.set_outputs({own.at(function.result)});
  const Tensor results = Executable(copy).run({}).front();
  const auto elements = results.view<float>();
  return {elements.begin(), elements.end()};
}

}  // namespace

TabulatedFunction::TabulatedFunction(const Range& range, std::vector<double> places)
    : low_(range.low),
      step_((range.high - range.low) / static_cast<double>(places.size() - 1)),
      places_(std::move(places)) {}

std::pair<std::size_t, double> TabulatedFunction::place_of(double x) const {
  const double last = static_cast<double>(places_.size() - 1);
  const double along = std::clamp((x - low_) / step_, 0.0, last);
  const double before = std::min(std::floor(along), last - 1);
  return {static_cast<std::size_t>(before), along - before};
}

double TabulatedFunction::operator()(double x) const {
  const auto [before, behind] = place_of(x);
  return places_[before] + behind * (places_[before + 1] - places_[before]);
}

double TabulatedFunction::slope(double x) const {
  const std::size_t before = place_of(x).first;
  return (places_[before + 1] - places_[before]) / step_;
}

std::optional<TabulatedFunction> tabulated_activation(const Graph& graph, ValueId value,
                                                      const Range& range) {
  const ElementwiseFunction function = activation_function(graph, value);
  const double width = range.high - range.low;
  if (function.operators.empty() || !(width > 0) || !std::isfinite(width)) {
    return std::nullopt;
  }
  // Every other number is a place of the table; those between show whether it is fine enough.
  constexpr std::int64_t kSteps = 4096;
  Tensor numbers(DType::kFloat32, {2 * kSteps + 1});
  for (std::int64_t i = 0; i <= 2 * kSteps; ++i) {
    const double x = range.low + width * static_cast<double>(i) / (2 * kSteps);
    numbers.mutable_view<float>()[static_cast<std::size_t>(i)] = static_cast<float>(x);
  }
  std::vector<float> results;
  try {
    results = results_of(graph, function, value, std::move(numbers));
  } catch (const Error&) {
    return std::nullopt;  // the network is not run here, so what is wrong with it shows there
  }
  const auto [least, greatest] = std::minmax_element(results.begin(), results.end());
  constexpr double kFine = 0x1p-10;  // a quarter of an 8-bit step of the results
  const double allowed = kFine * (static_cast<double>(*greatest) - static_cast<double>(*least));
  std::vector<double> places;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double here = static_cast<double>(results[i]);
    if (i % 2 == 0) {
      places.push_back(here);
    }
    const bool is_fine =
        i % 2 == 0 ||
        std::abs((static_cast<double>(results[i - 1]) + static_cast<double>(results[i + 1])) /
                     2 -
                 here) <= allowed;
    if (!std::isfinite(here) || !is_fine) {
      return std::nullopt;
    }
  }
  return TabulatedFunction(range, std::move(places));
}

}  // namespace tare
