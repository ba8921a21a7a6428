#include "onnx/integer_evaluator.h"

#include "tare/error.h"

#include "support/index.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace tare::test {
namespace {

using Values = std::vector<std::int64_t>;

Values slice(std::span<const Tensor* const> in, const Shape& shape) {
  const Values data = in[0]->to_int64();
  const Shape& source = in[0]->shape();
  Values start(source.size(), 0);
  Values step(source.size(), 1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(in[1]->size()); ++i) {
    const std::size_t axis = in.size() > 3 && in[3] != nullptr
                                 ? normalized_axis(in[3]->to_int64()[i], source.size())
                                 : i;
    step[axis] = in.size() > 4 ? in[4]->to_int64()[i] : 1;
    const std::int64_t from = in[1]->to_int64()[i];
    start[axis] = std::clamp<std::int64_t>(from < 0 ? from + source[axis] : from, 0,
                                           step[axis] > 0 ? source[axis] : source[axis] - 1);
  }
  Values result;
  for_each_index(shape, [&](std::vector<std::int64_t> index) {
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      index[axis] = start[axis] + step[axis] * index[axis];
    }
    result.push_back(data[offset(source, index)]);
  });
  return result;
}

Values transpose(const Node& node, const Tensor& data, const Shape& shape) {
  const Values values = data.to_int64();
  const auto order = node.attributes.integers("perm");
  Values result;
  for_each_index(shape, [&](const std::vector<std::int64_t>& index) {
    std::vector<std::int64_t> from(index.size());
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      from[static_cast<std::size_t>(order[axis])] = index[axis];
    }
    result.push_back(values[offset(data.shape(), from)]);
  });
  return result;
}

Values concat_vectors(std::span<const Tensor* const> in) {
  Values result;
  for (const Tensor* part : in) {
    const Values values = part->to_int64();
    result.insert(result.end(), values.begin(), values.end());
  }
  return result;
}

Values gather_from_vector(const Tensor& data, const Tensor& indices) {
  Values result;
  for (const std::int64_t i : indices.to_int64()) {
    result.push_back(data.to_int64().at(static_cast<std::size_t>(i < 0 ? i + data.size() : i)));
  }
  return result;
}

Values combine(const std::string& op, const Tensor& a, const Tensor& b, std::int64_t count) {
  const std::map<std::string, std::function<std::int64_t(std::int64_t, std::int64_t)>>
      combiners{{"Mul", std::multiplies<>()},
                {"Sub", std::minus<>()},
                {"Add", std::plus<>()},
                {"Div", std::divides<>()},
                {"Equal", std::equal_to<>()}};
  Values result;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = [&](const Tensor& t) {
      return t.to_int64()[static_cast<std::size_t>(t.size() == 1 ? 0 : i)];
    };
    result.push_back(combiners.at(op)(at(a), at(b)));
  }
  return result;
}

}  // namespace

std::vector<Tensor> evaluate_integers(const Node& node, std::span<const Tensor* const> in,
                                      std::span<const TensorType> types) {
  const Shape& shape = types[0].shape;
  const auto result = [&](const Values& values) {
    return std::vector{Tensor::of(shape, values)};
  };
  if (types[0].dtype == DType::kInt64) {
    if (node.op == "Reshape" || node.op == "Unsqueeze" || node.op == "Squeeze" ||
        node.op == "Cast") {
      return result(in[0]->to_int64());
    }
    if (node.op == "ConstantOfShape") {
      const std::int64_t value =
          node.attributes.has("value") ? node.attributes.tensor("value").to_int64()[0] : 0;
      return result(Values(static_cast<std::size_t>(element_count(shape)), value));
    }
    if (node.op == "Slice") {
      return result(slice(in, shape));
    }
    if (node.op == "Transpose") {
      return result(transpose(node, *in[0], shape));
    }
    if (node.op == "Concat" && shape.size() == 1) {
      return result(concat_vectors(in));
    }
    if (node.op == "Gather" && in[0]->shape().size() == 1) {
      return result(gather_from_vector(*in[0], *in[1]));
    }
    if (node.op == "Mul" || node.op == "Sub" || node.op == "Add" || node.op == "Div") {
      return result(combine(node.op, *in[0], *in[1], element_count(shape)));
    }
  }
  if (node.op == "Equal" && types[0].dtype == DType::kBool) {
    const Values values = combine(node.op, *in[0], *in[1], element_count(shape));
    Tensor flags(DType::kBool, shape);
    std::transform(values.begin(), values.end(), flags.mutable_data(),
                   [](std::int64_t value) { return static_cast<std::byte>(value); });
    return {flags};
  }
  throw Error(ErrorCode::kUnsupported, "node '" + node.name + "'",
              "not an integer computation");
}

}  // namespace tare::test
