// MatMul(OneHot(indices), w) -> Gather(w, indices)
//
// The product picks a row of w, or gives 0 where an index is outside of [-depth, depth). Gather
// knows negative indices too; rows of zeros stand for what is outside.
#include "tare/graph.h"
#include "tare/pattern.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

bool is_zero_or_one(const Graph& graph, const Node& node) {
  const Tensor* depth = graph.constant(node.inputs[1]);
  const Tensor* values = graph.constant(node.inputs[2]);
  const DType dtype = graph.type(node.inputs[0]).dtype;
  const std::size_t rank = graph.type(node.outputs[0]).shape.size();
  return depth != nullptr && values != nullptr && values->dtype() == DType::kFloat32 &&
         values->to_double() == std::vector<double>{0, 1} &&
         (dtype == DType::kInt32 || dtype == DType::kInt64) &&
         normalized_axis(node.attributes.integer("axis", -1), rank) + 1 == rank;
}

/// [2 * depth + 2, columns]: w for 0, 1, ..., zeros, zeros, w for -depth, ..., -1.
Tensor table_of(const Tensor& w) {
  const auto rows = w.view<float>();
  const auto columns = static_cast<std::size_t>(w.shape()[1]);
  std::vector<float> table(rows.begin(), rows.end());
  table.resize(table.size() + 2 * columns, 0.0F);
  table.insert(table.end(), rows.begin(), rows.end());
  return Tensor::of({2 * w.shape()[0] + 2, w.shape()[1]}, table);
}

/// Target of a Reshape that keeps the last extent, with another one in its place.
std::optional<std::vector<std::int64_t>> with_last(const Graph& graph, const Node& reshape,
                                                   std::int64_t last) {
  auto target = constant_integers(graph, reshape, 1);
  const Shape& before = graph.type(reshape.inputs[0]).shape;
  const Shape& after = graph.type(reshape.outputs[0]).shape;
  if (!target || target->empty() || after.back() != before.back() ||
      target->back() != after.back()) {
    return std::nullopt;
  }
  target->back() = last;
  return target;
}

std::variant<Patch, Refusal> pick_rows(const Graph& graph, const Match& match) {
  const Node& product = graph.node(match.root());
  const Node& one_hot = graph.node(match.node("one hot"));
  const Tensor& w = *graph.constant(product.inputs[1]);
  const std::int64_t depth = graph.type(one_hot.outputs[0]).shape.back();
  if (w.dtype() != DType::kFloat32 || w.shape().size() != 2 || w.shape()[0] != depth ||
      product.attributes.integer("transB", 0) != 0) {
    return Refusal{"the other operand is no matrix"};
  }
  const bool is_finite =
      std::ranges::all_of(w.view<float>(), [](float x) { return std::isfinite(x); });
  if (!is_finite) {
    return Refusal{"0 times an infinite number would be none"};
  }
  Patch patch(graph);
  const TensorType indices = graph.type(one_hot.inputs[0]);
  const auto bound = [&](const char* name, std::int64_t n) {
    return patch.add_constant(product.name + name,
                              indices.dtype == DType::kInt64
                                  ? Tensor::scalar(n)
                                  : Tensor::scalar(static_cast<std::int32_t>(n)));
  };
  const ValueId clipped =
      patch.add("Clip", {one_hot.inputs[0], bound("/low", -depth - 1), bound("/high", depth)},
                indices, product.name + "/indices");
  const ValueId table = patch.add_constant(product.name + "/table", table_of(w));
  if (!match.has("reshape")) {
    patch.replace_node(product, "Gather", {table, clipped}, {{"axis", std::int64_t{0}}});
    return patch;
  }
  const auto target = with_last(graph, graph.node(match.node("reshape")), w.shape()[1]);
  if (!target) {
    return Refusal{"the operand is of another shape"};
  }
  TensorType rows = graph.type(one_hot.outputs[0]);
  rows.shape.back() = w.shape()[1];
  const ValueId picked = patch.add("Gather", {table, clipped}, rows, product.name + "/rows",
                                   {{"axis", std::int64_t{0}}});
  const ValueId shape =
      patch.add_constant(product.name + "/shape",
                         Tensor::of({static_cast<std::int64_t>(target->size())}, *target));
  patch.replace_node(product, "Reshape", {picked, shape});
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(one_hot_product) {
  using namespace tare;
  return {.name = "one_hot_product",
          .summary = "looks up rows of a matrix that is multiplied by one-hot vectors",
          .benefit = 80,
          .pattern =
              [] {
                const Pattern one_hot = op("OneHot")
                                            .with(any(), constant(), constant())
                                            .where(is_zero_or_one, "is 0 or 1")
                                            .as("one hot");
                return op("MatMul").with(
                    one_hot | op("Reshape").with(one_hot, constant()).as("reshape"),
                    constant());
              },
          .rewrite = pick_rows};
}
