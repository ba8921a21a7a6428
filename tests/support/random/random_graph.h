#pragma once

#include "tare/graph.h"

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tare::test {

/// Draws valid graphs that use everything a graph can hold. Bytes of constants and names are
/// drawn too, so NaNs with payloads, negative zeros and names of control characters all occur.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {}

  Graph draw() {
    graph_ = Graph();
    readable_.clear();
    names_.clear();
    graph_.graph_name = text();
    graph_.opset = static_cast<int>(below(30));
    for (std::size_t i = below(3); i > 0; --i) {
      readable_.push_back(graph_.add_input(name(), type()));
    }
    for (std::size_t i = 1 + below(3); i > 0; --i) {
      const TensorType t = type();
      readable_.push_back(graph_.add_constant(name(), tensor(t.dtype, t.shape), t));
    }
    for (std::size_t i = below(6); i > 0; --i) {
      add_node();
    }
    std::vector<ValueId> outputs;
    for (std::size_t i = 1 + below(3); i > 0; --i) {
      outputs.push_back(pick(readable_));
    }
    graph_.set_outputs(std::move(outputs));
    add_dimension_names();
    return std::move(graph_);
  }

  std::size_t below(std::size_t limit) { return random_() % limit; }

 private:
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  std::string text() {
    std::string result;
    const bool plain = below(2) == 0;
    for (std::size_t i = below(8); i > 0; --i) {
      result += plain ? static_cast<char>('a' + below(26)) : static_cast<char>(below(256));
    }
    return result;
  }

  /// One that nothing else of the graph has.
  std::string name() {
    std::string result = text();
    while (!names_.insert(result).second) {
      result += 'x';
    }
    return result;
  }

  Shape shape() {
    Shape result(below(4));
    for (auto& extent : result) {
      extent = static_cast<std::int64_t>(below(5));
    }
    return result;
  }

  std::vector<float> scales(std::size_t count) {
    std::vector<float> result(count);
    for (float& scale : result) {
      scale = std::ldexp(1 + static_cast<float>(below(1U << 23U)) * 0x1p-23F,
                         static_cast<int>(below(250)) - 125);
    }
    return result;
  }

  TensorType type() {
    static const std::vector<DType> all{DType::kFloat32, DType::kFloat64, DType::kFloat16,
                                        DType::kInt8,    DType::kUint8,   DType::kInt16,
                                        DType::kUint16,  DType::kInt32,   DType::kUint32,
                                        DType::kInt64,   DType::kUint64,  DType::kBool};
    static const std::vector<DType> storage{DType::kInt8, DType::kUint8, DType::kInt16,
                                            DType::kUint16, DType::kInt32};
    TensorType result{.dtype = pick(all), .shape = shape(), .quant = {}, .point = {}};
    if (below(3) == 0) {
      result.dtype = pick(storage);
      QuantParams params{.storage = result.dtype, .scale = {}, .zero_point = {}, .axis = {}};
      params.narrow_range = below(2) == 0;
      std::size_t count = 1;
      if (!result.shape.empty() && below(2) == 0) {
        params.axis = static_cast<int>(below(result.shape.size()));
        count = static_cast<std::size_t>(result.shape[static_cast<std::size_t>(*params.axis)]);
      }
      params.scale = scales(count);
      const StorageRange range = params.range();
      for (std::size_t i = 0; i < count; ++i) {
        const auto steps = static_cast<std::size_t>(range.high - range.low + 1);
        params.zero_point.push_back(
            static_cast<std::int32_t>(range.low + static_cast<std::int64_t>(below(steps))));
      }
      result.quant = std::move(params);
    }
    if (below(3) == 0) {
      result.point = text();
      if (!result.point.empty() && below(2) == 0) {
        result.dtype = DType::kFloat32;  // simulated: storage values in float32
      }
    }
    return result;
  }

  Tensor tensor(DType dtype, Shape shape) {
    Tensor result(dtype, std::move(shape));
    std::byte* bytes = result.mutable_data();
    for (std::size_t i = 0; i < result.byte_size(); ++i) {
      bytes[i] = static_cast<std::byte>(below(dtype == DType::kBool ? 2 : 256));
    }
    return result;
  }

  /// Any float that equals itself: graphs compare attributes as numbers.
  float real() {
    static const std::vector<float> special{0.0F,    1.0F,  -1.0F,     1e-45F,  3.4028235e38F,
                                            0x1p24F, 1e10F, -INFINITY, INFINITY};
    return below(2) == 0 ? pick(special) : scales(1)[0];
  }

  template <class F>
  auto list(F&& item) {
    std::vector<decltype(item())> result;
    for (std::size_t i = below(4); i > 0; --i) {
      result.push_back(item());
    }
    return result;
  }

  Attribute attribute() {
    const auto integer = [&] {
      return static_cast<std::int64_t>((random_() << 32U) ^ random_());
    };
    switch (below(7)) {
      case 0:
        return integer();
      case 1:
        return real();
      case 2:
        return text();
      case 3:
        return list(integer);
      case 4:
        return list([&] { return real(); });
      case 5:
        return list([&] { return text(); });
      default: {
        const TensorType t = type();
        return tensor(t.dtype, t.shape);
      }
    }
  }

  void add_node() {
    std::vector<ValueId> inputs;
    for (std::size_t i = below(4); i > 0; --i) {
      inputs.push_back(below(4) == 0 ? ValueId{} : pick(readable_));
    }
    std::vector<NamedType> results;
    for (std::size_t i = 1 + below(2); i > 0; --i) {
      results.push_back({name(), type()});
    }
    Attributes attributes;
    for (std::size_t i = below(4); i > 0; --i) {
      attributes.set(text(), attribute());
    }
    const std::string node_name = below(2) == 0 ? "" : name();
    const NodeId id = graph_.add_node(node_name, "Op" + text(), std::move(inputs),
                                      std::move(results), std::move(attributes));
    for (const ValueId output : graph_.node(id).outputs) {
      readable_.push_back(output);
    }
  }

  void add_dimension_names() {
    for (const ValueId id : graph_.values()) {
      if (below(3) == 0) {
        auto& names = graph_.dimension_names[graph_.name(id)];
        names.resize(graph_.type(id).shape.size());
        for (std::string& dimension : names) {
          dimension = text();
        }
      }
    }
  }

  std::mt19937_64 random_;
  Graph graph_;
  std::vector<ValueId> readable_;
  std::set<std::string> names_;
};

}  // namespace tare::test
