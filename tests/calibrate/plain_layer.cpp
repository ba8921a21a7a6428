#include "calibrate/plain_layer.h"

#include "support/index.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tare::test {

PlainLayer::PlainLayer(const Graph& graph, const Node& node)
    : is_convolution_(node.op == "Conv"),
      weights_(graph.type(node.inputs.at(1)).shape),
      result_(graph.type(node.outputs.at(0)).shape) {
  const Attributes& attributes = node.attributes;
  if (is_convolution_ ? weights_.size() != 4 || attributes.integer("group", 1) != 1
                      : node.op != "MatMul" || weights_.size() != 2) {
    throw std::logic_error("no plain loop for " + node.op);
  }
  strides_ = attributes.integers("strides", {1, 1});
  dilations_ = attributes.integers("dilations", {1, 1});
  pads_ = attributes.integers("pads", {0, 0, 0, 0});
  outputs_ = static_cast<std::size_t>(weights_[is_convolution_ ? 0 : 1]);
  columns_ = static_cast<std::size_t>(element_count(weights_)) / outputs_;
}

std::size_t PlainLayer::at(std::size_t output, std::size_t column) const {
  return is_convolution_ ? output * columns_ + column : column * outputs_ + output;
}

std::vector<float> PlainLayer::rows(const Tensor& input) const {
  const auto elements = input.view<float>();
  return is_convolution_ ? windows(input)
                         : std::vector<float>(elements.begin(), elements.end());
}

std::vector<float> PlainLayer::windows(const Tensor& image) const {
  const Shape& shape = image.shape();
  std::vector<float> rows;
  for_each_index({shape[0], 1, result_[2], result_[3]}, [&](const Shape& to) {
    for_each_index({weights_[1], weights_[2], weights_[3]}, [&](const Shape& tap) {
      const std::int64_t y = to[2] * strides_[0] + tap[1] * dilations_[0] - pads_[0];
      const std::int64_t x = to[3] * strides_[1] + tap[2] * dilations_[1] - pads_[1];
      const bool inside = y >= 0 && y < shape[2] && x >= 0 && x < shape[3];
      rows.push_back(inside ? image.view<float>()[offset(shape, {to[0], tap[0], y, x})] : 0);
    });
  });
  return rows;
}

std::vector<std::size_t> PlainLayer::neighbours() const {
  std::vector<std::size_t> order;
  const std::size_t taps =
      is_convolution_ ? static_cast<std::size_t>(weights_[2] * weights_[3]) : 1;
  for (std::size_t tap = 0; tap < taps; ++tap) {
    for (std::size_t channel = 0; channel < columns_ / taps; ++channel) {
      order.push_back(channel * taps + tap);
    }
  }
  std::vector<std::size_t> result(columns_);
  for (std::size_t i = 0; i < order.size(); ++i) {
    result[order[i]] = order[i % 2 == 1 ? i - 1 : std::min(i + 1, order.size() - 1)];
  }
  return result;
}

}  // namespace tare::test
