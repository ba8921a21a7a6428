#pragma once

#include "support/graphs.h"
#include "support/random/random.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tare::test {

/// Builds networks of layers and of what may lie between them, over [N,C,H,W] values.
class RandomLayers {
 public:
  explicit RandomLayers(std::uint32_t seed) : random_(seed), batch_(random_.integer(1, 2)) {
    values_.push_back(graph_.add_input("x", f32({batch_, 4, 6, 6})));
  }

  /// The last of some nodes goes through dense layers; any other value is a result, too.
  Graph network(int nodes) {
    for (int i = 0; i < nodes; ++i) {
      add_any(values_[static_cast<std::size_t>(i)]);
    }
    const ValueId other = any();
    const ValueId dense = add_dense(values_.back());
    graph_.set_outputs({dense, other});
    return std::move(graph_);
  }

 private:
  using Integers = std::vector<std::int64_t>;

  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }
  ValueId constant(Shape extents) {
    return graph_.add_constant(graph_.unique_name("c"), random_.tensor(std::move(extents)));
  }
  ValueId integers(const Integers& values) {
    return graph_.add_constant(
        graph_.unique_name("i"),
        Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  ValueId number(float value) {
    return graph_.add_constant(graph_.unique_name("n"), Tensor::of<float>({}, {value}));
  }
  /// Of a Clip, on the side of `cut`: there, at 0, or nowhere.
  float bound(float cut) {
    const std::array<float, 3> bounds{
        cut, 0, std::copysign(std::numeric_limits<float>::infinity(), cut)};
    return bounds[static_cast<std::size_t>(random_.integer(0, 2))];
  }
  ValueId any() {
    const auto last = static_cast<std::int64_t>(values_.size()) - 1;
    return values_[static_cast<std::size_t>(random_.integer(0, last))];
  }
  /// A value of any of these shapes, or `x` itself.
  ValueId any_like(ValueId x, bool same_channels) {
    const ValueId found = any();
    const Shape& a = shape(x);
    const Shape& b = shape(found);
    return a[2] == b[2] && a[3] == b[3] && (!same_channels || a[1] == b[1]) ? found : x;
  }
  static Shape with_channels(Shape shape, std::int64_t channels) {
    shape[1] = channels;
    return shape;
  }

  /// A layer with 3x3 weights that keeps positions.
  ValueId layer(const std::string& op, ValueId x, std::int64_t groups, std::int64_t results) {
    const std::int64_t channels = shape(x)[1];
    const Shape weights = op == "Conv" ? Shape{results, channels / groups, 3, 3}
                                       : Shape{channels, results / groups, 3, 3};
    std::vector<ValueId> operands{x, constant(weights)};
    if (random_.coin()) {
      operands.push_back(constant({results}));
    }
    return add(graph_, op, operands, with_channels(shape(x), results),
               {{"pads", Integers{1, 1, 1, 1}}, {"group", groups}});
  }

  void add_any(ValueId x) {
    const Shape like = shape(x);
    const std::int64_t channels = like[1];
    const std::int64_t groups = channels % 2 == 0 ? 2 : 1;
    const Attributes window{{"kernel_shape", Integers{3, 3}}, {"pads", Integers{1, 1, 1, 1}}};
    const auto push = [&](std::string op, std::vector<ValueId> operands, Shape result,
                          Attributes attributes = {}) {
      values_.push_back(add(graph_, std::move(op), std::move(operands), std::move(result),
                            std::move(attributes)));
    };
    switch (random_.integer(0, 20)) {
      case 0:
        values_.push_back(layer("Conv", x, 1, random_.integer(1, 6)));
        break;
      case 1:
        values_.push_back(layer("Conv", x, channels, channels * random_.integer(1, 2)));
        break;
      case 2:
        values_.push_back(layer("Conv", x, groups, groups * random_.integer(1, 3)));
        break;
      case 3:
        values_.push_back(layer("ConvTranspose", x, groups, groups * random_.integer(1, 3)));
        break;
      case 4:
        push("Relu", {x}, like);
        break;
      case 5:
        push("LeakyRelu", {x}, like, {{"alpha", 0.3F}});
        break;
      case 6:
        push("PRelu", {x, constant({channels, 1, 1})}, like);
        break;
      case 7:
        push("Clip", {x, number(bound(-0.5F)), number(bound(0.5F))}, like);
        break;
      case 8:
        push("MaxPool", {x}, like, window);
        break;
      case 9:
        push("AveragePool", {x}, like, window);
        break;
      case 10:
        push(random_.coin() ? "Add" : "Sub", {x, any_like(x, true)}, like);
        break;
      case 11: {
        const ValueId mean =
            add(graph_, "GlobalAveragePool", {any_like(x, true)}, {batch_, channels, 1, 1});
        push("Add", {x, mean}, like);
        break;
      }
      case 12: {
        const ValueId other = any_like(x, false);
        push("Concat", {x, other}, with_channels(like, channels + shape(other)[1]),
             {{"axis", std::int64_t{1}}});
        break;
      }
      case 13:
        push("Slice", {x, integers({channels / 2}), integers({channels}), integers({1})},
             with_channels(like, channels - channels / 2));
        break;
      case 14:
        push("Pad", {x, integers({0, 1, 0, 0, 0, 2, 0, 0})}, with_channels(like, channels + 3));
        break;
      case 15:
        if (channels > 1) {
          split(x);
          break;
        }
        [[fallthrough]];
      case 16: {
        const bool nearest = random_.coin();
        const float rows = like[2] % 2 == 0 ? 0.5F : 2;
        const std::int64_t height = rows < 1 ? like[2] / 2 : like[2] * 2;
        const ValueId scales = graph_.add_constant(graph_.unique_name("s"),
                                                   Tensor::of<float>({4}, {1, 1, rows, 2}));
        push("Resize", {x, {}, scales}, {batch_, channels, height, like[3] * 2},
             {{"mode", std::string(nearest ? "nearest" : "linear")},
              {"coordinate_transformation_mode", std::string("asymmetric")}});
        break;
      }
      case 17:
        push("Mul", {x, constant({channels, 1, 1})}, like);
        break;
      case 18:
        push("Reshape", {x, integers({batch_, channels * like[2], 1, like[3]})},
             {batch_, channels * like[2], 1, like[3]});
        break;
      case 19:
        push("Sigmoid", {x}, like);
        break;
      default:
        push("Mul", {x, any_like(x, true)}, like);
    }
  }

  void split(ValueId x) {
    const std::int64_t channels = shape(x)[1];
    const Integers parts{1, channels - 1};
    const std::string name = graph_.unique_name("Split");
    const NodeId node = graph_.add_node(name, "Split", {x, integers(parts)},
                                        {{name + "_0", f32(with_channels(shape(x), parts[0]))},
                                         {name + "_1", f32(with_channels(shape(x), parts[1]))}},
                                        {{"axis", std::int64_t{1}}});
    for (const ValueId part : graph_.node(node).outputs) {
      values_.push_back(part);
    }
  }

  ValueId add_dense(ValueId x) {
    const std::int64_t depth = element_count(shape(x)) / batch_;
    const ValueId flat =
        add(graph_, "Flatten", {x}, {batch_, depth}, {{"axis", std::int64_t{1}}});
    const ValueId first = add(graph_, "Gemm", {flat, constant({5, depth}), constant({5})},
                              {batch_, 5}, {{"transB", std::int64_t{1}}});
    const ValueId relu = add(graph_, "Relu", {first}, {batch_, 5});
    const ValueId second =
        add(graph_, "Gemm", {relu, constant({5, 4}), constant({1, 4})}, {batch_, 4});
    return add(graph_, "MatMul", {second, constant({4, 3})}, {batch_, 3});
  }

  Random random_;
  std::int64_t batch_;
  Graph graph_;
  std::vector<ValueId> values_;
};

}  // namespace tare::test
