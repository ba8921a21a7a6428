#include "fuzz/network.h"

#include "support/graphs.h"
#include "support/random/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace tare::fuzz {
namespace {

using test::f32;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kMostElements = 2000;
/// Rounding the weights of products takes the cube of that.
constexpr std::int64_t kMostFactors = 300;

std::int64_t window_end(std::int64_t extent, std::int64_t pads, std::int64_t kernel,
                        std::int64_t dilation, std::int64_t stride) {
  const std::int64_t room = extent + pads - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

class Drawing {
 public:
  explicit Drawing(Choices& choices) : choices_(choices) {}

  Network draw() {
    const std::int64_t inputs = choices_.rarely(3) ? 2 : 1;
    const std::int64_t count = choices_.between(1, 8);
    Shape shape{1, choices_.between(1, 6), choices_.between(1, 6), choices_.between(1, 6)};
    if (choices_.rarely(6)) {
      shape.resize(2);
    }
    for (std::int64_t i = 0; i < inputs; ++i) {
      const std::string name = i == 0 ? "x" : "y";
      values_.push_back(graph_.add_input(name, f32(shape)));
      Shape all = shape;
      all[0] = count;
      samples_.emplace(name, numbers(all));
    }
    for (std::int64_t i = choices_.between(1, 9); i > 0; --i) {
      step();
    }
    std::vector<ValueId> outputs{values_.back()};
    if (choices_.rarely(4)) {
      const ValueId other = any();
      if (other != outputs[0] && graph_.producer(other)) {
        outputs.push_back(other);
      }
    }
    if (!graph_.producer(outputs[0])) {
      outputs = {op("Relu", {outputs[0]}, shape_of(outputs[0]))};
    }
    graph_.set_outputs(outputs);
    graph_.erase_unused();
    return {std::move(graph_), std::move(samples_)};
  }

 private:
  const Shape& shape_of(ValueId value) const { return graph_.type(value).shape; }

  ValueId op(const char* name, std::vector<ValueId> inputs, Shape shape,
             Attributes attributes = {}) {
    return test::add(graph_, name, std::move(inputs), std::move(shape), std::move(attributes));
  }

  /// Recent values more often.
  ValueId any() { return choices_.coin() ? values_.back() : choices_.of(values_); }

  /// Like those of networks, or unlike them.
  Tensor numbers(const Shape& shape) {
    Tensor result(DType::kFloat32, shape);
    const std::int64_t kind = choices_.below(16);
    test::Random random(choices_.byte());
    const float factor = std::ldexp(1.0F, static_cast<int>(choices_.between(-6, 3)));
    const auto values = result.mutable_view<float>();
    for (float& value : values) {
      value = random.real() * factor;
    }
    constexpr std::array kExtremes{0.0F,     -0.0F,   1e-30F, 1e-45F, 3e38F,
                                   -3.4e38F, 1.0e10F, 1e-6F,  -1.0F,  65504.0F};
    const float extreme = choices_.of(std::span<const float>(kExtremes));
    if (kind == 15) {
      std::fill(values.begin(), values.end(), extreme);
    } else if (kind == 14 && !values.empty()) {
      values[static_cast<std::size_t>(random.integer(0, result.size() - 1))] = extreme;
    } else if (kind == 13) {
      for (float& value : values) {  // many halves between steps
        value = std::round(value * 4) / 4;
      }
    } else if (kind == 12) {
      for (float& value : values) {
        value = std::abs(value);
      }
    }
    return result;
  }

  ValueId constant(const Shape& shape) {
    return graph_.add_constant(graph_.unique_name("c"), numbers(shape));
  }
  ValueId scalar(float value) {
    return graph_.add_constant(graph_.unique_name("c"), Tensor::scalar(value));
  }
  ValueId integers(const Integers& values) {
    return graph_.add_constant(
        graph_.unique_name("i"),
        Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }

  struct Window {
    Integers kernel;
    Integers strides;
    Integers dilations;
    Integers pads;
    Shape extents;  ///< of the result; empty where the window does not fit

    Attributes attributes(bool dilated) const {
      Attributes result{{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
      if (dilated) {
        result.set("dilations", dilations);
      }
      return result;
    }
  };

  Window window(const Shape& shape, bool dilated) {
    Window w{{}, {}, {}, Integers(4), {}};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      w.kernel.push_back(choices_.between(1, 3));
      w.strides.push_back(choices_.rarely(3) ? 2 : 1);
      w.dilations.push_back(dilated && choices_.rarely(6) ? 2 : 1);
      const std::int64_t most = w.kernel[axis] - 1;  // no window of padding alone
      w.pads[axis] = choices_.between(0, most);
      w.pads[axis + 2] = choices_.between(0, most);
      const std::int64_t end = window_end(shape[axis + 2], w.pads[axis] + w.pads[axis + 2],
                                          w.kernel[axis], w.dilations[axis], w.strides[axis]);
      w.extents.push_back(end);
    }
    if (w.extents[0] == 0 || w.extents[1] == 0) {
      w.extents.clear();
    }
    return w;
  }

  std::optional<ValueId> convolution(ValueId x) {
    const Shape shape = shape_of(x);
    const std::int64_t channels = shape[1];
    const Window w = window(shape, true);
    if (w.extents.empty()) {
      return {};
    }
    const std::int64_t kind = choices_.below(4);
    const std::int64_t groups = kind == 0 ? channels : (kind == 1 && channels % 2 == 0 ? 2 : 1);
    const std::int64_t results = groups * choices_.between(1, groups > 2 ? 2 : 5);
    std::vector<ValueId> operands{
        x, constant({results, channels / groups, w.kernel[0], w.kernel[1]})};
    if (choices_.coin()) {
      operands.push_back(constant({results}));
    }
    Attributes attributes = w.attributes(true);
    attributes.set("group", groups);
    return op("Conv", operands, {1, results, w.extents[0], w.extents[1]}, attributes);
  }

  std::optional<ValueId> transposed_convolution(ValueId x) {
    const Shape shape = shape_of(x);
    const std::int64_t results = choices_.between(1, 4);
    const Integers kernel{choices_.between(1, 3), choices_.between(1, 3)};
    const Integers strides{choices_.between(1, 2), choices_.between(1, 2)};
    return op("ConvTranspose", {x, constant({shape[1], results, kernel[0], kernel[1]})},
              {1, results, (shape[2] - 1) * strides[0] + kernel[0],
               (shape[3] - 1) * strides[1] + kernel[1]},
              {{"strides", strides}});
  }

  std::optional<ValueId> pool(ValueId x) {
    const Shape shape = shape_of(x);
    const Window w = window(shape, false);
    if (w.extents.empty()) {
      return {};
    }
    const Shape result{1, shape[1], w.extents[0], w.extents[1]};
    if (choices_.coin()) {
      return op("MaxPool", {x}, result, w.attributes(false));
    }
    Attributes attributes = w.attributes(false);
    attributes.set("count_include_pad", choices_.below(2));
    return op("AveragePool", {x}, result, attributes);
  }

  std::optional<ValueId> normalization(ValueId x) {
    const Shape channels{shape_of(x)[1]};
    Tensor variance = numbers(channels);
    for (float& value : variance.mutable_view<float>()) {
      value = std::abs(value);
    }
    return op("BatchNormalization",
              {x, constant(channels), constant(channels), constant(channels),
               graph_.add_constant(graph_.unique_name("c"), variance)},
              shape_of(x));
  }

  /// Operators on images.
  std::optional<ValueId> spatial(ValueId x) {
    const Shape shape = shape_of(x);
    switch (choices_.below(10)) {
      case 0:
        return op("GlobalAveragePool", {x}, {1, shape[1], 1, 1});
      case 1:
        return op("Flatten", {x}, {1, element_count(shape)}, {{"axis", std::int64_t{1}}});
      case 2:
        return normalization(x);
      case 3:
        return transposed_convolution(x);
      case 4:
        return op("Pad", {x, integers({0, 0, 1, 0, 0, 0, 0, 2})},
                  {1, shape[1], shape[2] + 1, shape[3] + 2});
      case 5:
        return op("Resize",
                  {x,
                   {},
                   graph_.add_constant(graph_.unique_name("c"),
                                       Tensor::of<float>({4}, {1, 1, 2, 2}))},
                  {1, shape[1], 2 * shape[2], 2 * shape[3]},
                  {{"mode", std::string("nearest")},
                   {"coordinate_transformation_mode", std::string("asymmetric")},
                   {"nearest_mode", std::string("floor")}});
      case 6:
        return pool(x);
      default:
        return convolution(x);
    }
  }

  std::optional<ValueId> product(ValueId x) {
    const Shape shape = shape_of(x);
    if (shape.back() > kMostFactors) {
      return {};
    }
    const std::int64_t results = choices_.between(1, 5);
    Shape result = shape;
    result.back() = results;
    if (shape.size() == 2 && choices_.coin()) {
      const bool transposed = choices_.coin();
      const Shape weights = transposed ? Shape{results, shape[1]} : Shape{shape[1], results};
      Attributes attributes{{"transB", std::int64_t{transposed ? 1 : 0}}};
      if (choices_.rarely(4)) {
        attributes.set("alpha", 0.5F);
      }
      return op("Gemm", {x, constant(weights), constant({results})}, result, attributes);
    }
    if (shape.size() == 4 && shape[2] == shape[3] && choices_.rarely(3)) {
      for (const ValueId other : values_) {
        if (shape_of(other) == shape) {
          return op("MatMul", {x, other}, shape);
        }
      }
    }
    return op("MatMul", {x, constant({shape.back(), results})}, result);
  }

  std::optional<ValueId> pair(ValueId x) {
    const Shape shape = shape_of(x);
    std::optional<ValueId> other;
    const std::int64_t first = choices_.below(static_cast<std::int64_t>(values_.size()));
    for (std::size_t i = 0; i < values_.size() && !other; ++i) {
      const ValueId value = values_[(static_cast<std::size_t>(first) + i) % values_.size()];
      if (shape_of(value) == shape) {
        other = value;
      }
    }
    if (choices_.rarely(3)) {
      Shape channels(shape.size(), 1);
      channels[1] = shape[1];
      other = choices_.coin() ? constant(channels) : constant({});
    }
    const std::int64_t kind = choices_.below(6);
    if (kind == 0) {
      const Shape joined_with = shape_of(*other);
      if (joined_with.size() == shape.size() && graph_.constant(*other) == nullptr) {
        Shape result = shape;
        result[1] += joined_with[1];
        return op("Concat", {x, *other}, result, {{"axis", std::int64_t{1}}});
      }
    }
    constexpr std::array<const char*, 6> kOps{"Add", "Add", "Add", "Mul", "Sub", "Max"};
    return op(kOps[static_cast<std::size_t>(kind)], {x, *other}, shape);
  }

  std::optional<ValueId> moved(ValueId x) {
    const Shape shape = shape_of(x);
    if (shape.size() != 4) {
      return op("Reshape", {x, integers({1, -1, 1, 1})}, {1, shape[1], 1, 1});
    }
    switch (choices_.below(4)) {
      case 0:
        return op("Transpose", {x}, {1, shape[2], shape[3], shape[1]},
                  {{"perm", Integers{0, 2, 3, 1}}});
      case 1:
        return op("Transpose", {x}, {1, shape[1], shape[3], shape[2]},
                  {{"perm", Integers{0, 1, 3, 2}}});
      case 2: {
        const std::int64_t first = choices_.below(shape[1]);
        return op("Slice", {x, integers({first}), integers({shape[1]}), integers({1})},
                  {1, shape[1] - first, shape[2], shape[3]});
      }
      default:
        return op("Reshape", {x, integers({1, shape[1], shape[3], shape[2]})},
                  {1, shape[1], shape[3], shape[2]});
    }
  }

  std::optional<ValueId> function(ValueId x) {
    const Shape shape = shape_of(x);
    switch (choices_.below(8)) {
      case 0:
        return op("Clip", {x, scalar(0), scalar(6)}, shape);
      case 1:
        return op("Clip", {x, scalar(-0.3F), scalar(choices_.coin() ? 1.7F : -0.1F)}, shape);
      case 2:
        return op("Sigmoid", {x}, shape);
      case 3:
        return op("Tanh", {x}, shape);
      case 4:
        return op("LeakyRelu", {x}, shape, {{"alpha", 0.1F}});
      case 5:
        return op("Softmax", {x}, shape, {{"axis", std::int64_t{1}}});
      default:
        return op("Relu", {x}, shape);
    }
  }

  void step() {
    const ValueId x = any();
    std::optional<ValueId> result;
    switch (choices_.below(8)) {
      case 0:
        result = function(x);
        break;
      case 1:
        result = pair(x);
        break;
      case 2:
        result = moved(x);
        break;
      case 3:
        result = product(x);
        break;
      case 4:
        result = function(x);
        break;
      default:
        result = shape_of(x).size() == 4 ? spatial(x) : product(x);
    }
    if (result && element_count(shape_of(*result)) <= kMostElements) {
      values_.push_back(*result);
    }
  }

  Choices& choices_;
  Graph graph_;
  std::vector<ValueId> values_;
  std::map<std::string, Tensor> samples_;
};

}  // namespace

Network any_network(Choices& choices) {
  return Drawing(choices).draw();
}

}  // namespace tare::fuzz
