// Matrix products: dA = dY B^T and dB = A^T dY, summed over batches that broadcast.
#include "reconstruct/gradient_rule.h"

#include <algorithm>
#include <numeric>

namespace tare {
namespace {

using C = GradientContext;

/// With the last two axes exchanged.
ValueId transposed(C& c, ValueId value) {
  std::vector<std::int64_t> order(c.shape(value).size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return c.transpose(value, order);
}

ValueId product(C& c, ValueId a, ValueId b) {
  const Shape& left = c.shape(a);
  const Shape& right = c.shape(b);
  Shape shape =
      broadcast(Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2));
  shape.push_back(left[left.size() - 2]);
  shape.push_back(right.back());
  return c.add("MatMul", {a, b}, shape);
}

void matmul(C& c) {
  ValueId a = c.input(0);
  ValueId b = c.input(1);
  Shape result = c.shape(c.output());
  // Vectors are matrices of one row or column.
  if (c.shape(b).size() == 1) {
    b = c.reshape(b, {c.shape(b)[0], 1});
    result.push_back(1);
  }
  if (c.shape(a).size() == 1) {
    a = c.reshape(a, {1, c.shape(a)[0]});
    result.insert(result.end() - 1, 1);
  }
  const ValueId gradient = c.reshape(c.gradient(), result);
  if (c.wants(0)) {
    const ValueId own = c.sum_to(product(c, gradient, transposed(c, b)), c.shape(a));
    c.give(0, c.reshape(own, c.shape(c.input(0))));
  }
  if (c.wants(1)) {
    const bool one_matrix = c.shape(b).size() == 2 && c.shape(a).size() > 2;
    ValueId left = a;
    ValueId right = gradient;
    if (one_matrix) {  // all rows of all batches in one product
      const std::int64_t depth = c.shape(a).back();
      const std::int64_t columns = result.back();
      left =
          c.reshape(a, {element_count(c.shape(a)) / std::max<std::int64_t>(depth, 1), depth});
      right = c.reshape(gradient,
                        {element_count(result) / std::max<std::int64_t>(columns, 1), columns});
    }
    const ValueId own = c.sum_to(product(c, transposed(c, left), right), c.shape(b));
    c.give(1, c.reshape(own, c.shape(c.input(1))));
  }
}

void gemm(C& c) {
  const bool a_transposed = c.attributes().integer("transA", 0) != 0;
  const bool b_transposed = c.attributes().integer("transB", 0) != 0;
  const float alpha = c.attributes().real("alpha", 1);
  const auto multiply = [&](ValueId left, bool left_transposed, ValueId right,
                            bool right_transposed, const Shape& shape) {
    return c.add("Gemm", {left, right}, shape,
                 {{"alpha", alpha},
                  {"transA", std::int64_t{left_transposed}},
                  {"transB", std::int64_t{right_transposed}}});
  };
  const ValueId g = c.gradient();
  if (c.wants(0)) {
    c.give(0, a_transposed
                  ? multiply(c.input(1), b_transposed, g, true, c.shape(c.input(0)))
                  : multiply(g, false, c.input(1), !b_transposed, c.shape(c.input(0))));
  }
  if (c.wants(1)) {
    c.give(1, b_transposed
                  ? multiply(g, true, c.input(0), a_transposed, c.shape(c.input(1)))
                  : multiply(c.input(0), !a_transposed, g, false, c.shape(c.input(1))));
  }
  if (c.wants(2)) {
    const ValueId scaled = c.map("Mul", {g, c.number(c.attributes().real("beta", 1))});
    c.give(2, c.sum_to(scaled, c.shape(c.input(2))));
  }
}

}  // namespace
}  // namespace tare

TARE_GRADIENT(matrix) {
  using namespace tare;
  return {{{"MatMul"}, matmul}, {{"Gemm"}, gemm}};
}
