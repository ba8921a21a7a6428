#include "tare/execute.h"

#include "support/float_sum.h"
#include "support/graphs.h"
#include "support/index.h"
#include "support/random/random.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// `known`: the right operand is a constant.
Tensor product(const std::string& op, const Tensor& a, const Tensor& b, bool known,
               Shape result, const Attributes& attributes = {}, const Tensor* c = nullptr) {
  Graph graph;
  std::vector<Tensor> inputs{a};
  std::vector<ValueId> operands{graph.add_input("a", f32(a.shape()))};
  if (known) {
    operands.push_back(graph.add_constant("b", b));
  } else {
    operands.push_back(graph.add_input("b", f32(b.shape())));
    inputs.push_back(b);
  }
  if (c != nullptr) {
    operands.push_back(graph.add_constant("c", *c));
  }
  graph.set_outputs({add(graph, op, operands, std::move(result), attributes)});
  return Executable(graph).run(inputs).at(0);
}

TEST(MatMul, BroadcastsLeadingAxes) {
  struct Case {
    Shape a;
    Shape b;
    Shape result;
    Shape batches_a;  ///< leading extents of a, padded to the rank of the result
    Shape batches_b;
  };
  const std::vector<Case> cases{
      {{5, 7}, {7, 3}, {5, 3}, {}, {}},
      {{1, 7}, {7, 3}, {1, 3}, {}, {}},
      {{2, 5, 7}, {7, 3}, {2, 5, 3}, {2}, {1}},
      {{2, 1, 5, 7}, {3, 7, 4}, {2, 3, 5, 4}, {2, 1}, {1, 3}},
      {{3, 5, 7}, {2, 1, 7, 4}, {2, 3, 5, 4}, {1, 3}, {2, 1}},
  };
  Random random(1);
  for (const Case& c : cases) {
    const Tensor a = random.tensor(c.a);
    const Tensor b = random.tensor(c.b);
    const std::size_t batch_rank = c.result.size() - 2;
    const std::int64_t rows = c.a[c.a.size() - 2];
    const std::int64_t columns = c.b.back();
    for (const bool known : {true, false}) {
      const Tensor y = product("MatMul", a, b, known, c.result);
      for_each_index(c.result, [&](const Shape& at) {
        const auto matrix = [&](const Shape& batches) {
          std::int64_t number = 0;
          for (std::size_t i = 0; i < batch_rank; ++i) {
            number = number * batches[i] + (batches[i] == 1 ? 0 : at[i]);
          }
          return number;
        };
        Sum sum;
        for (std::int64_t k = 0; k < 7; ++k) {
          const std::int64_t i = (matrix(c.batches_a) * rows + at[batch_rank]) * 7 + k;
          const std::int64_t j = (matrix(c.batches_b) * 7 + k) * columns + at[batch_rank + 1];
          sum.add(a.view<float>()[static_cast<std::size_t>(i)],
                  b.view<float>()[static_cast<std::size_t>(j)]);
        }
        ASSERT_NEAR(y.view<float>()[offset(c.result, at)], sum.value, sum.bound())
            << to_string(c.a) << to_string(c.b) << (known ? " known" : "");
      });
    }
  }
}

TEST(MatMul, TakesVectorsAsRowAndColumn) {
  const Tensor v = Tensor::of<float>({2}, std::vector<float>{1, 2});
  const Tensor m = Tensor::of<float>({2, 2}, std::vector<float>{3, 4, 5, 6});
  for (const bool known : {true, false}) {
    EXPECT_EQ(product("MatMul", v, m, known, {2}).to_float(), (std::vector<float>{13, 16}));
    EXPECT_EQ(product("MatMul", m, v, known, {2}).to_float(), (std::vector<float>{11, 17}));
    EXPECT_EQ(product("MatMul", v, v, known, {}).to_float(), (std::vector<float>{5}));
  }
}

TEST(Gemm, ScalesTransposesAndAdds) {
  Random random(2);
  const std::vector<Shape> biases{{}, {1}, {3}, {1, 3}, {4, 1}, {4, 3}};
  for (std::int64_t variant = 0; variant < 4; ++variant) {
    const bool ta = (variant & 1) != 0;
    const bool tb = (variant & 2) != 0;
    const Tensor a = random.tensor(ta ? Shape{6, 4} : Shape{4, 6});
    const Tensor b = random.tensor(tb ? Shape{3, 6} : Shape{6, 3});
    for (const Shape& shape : biases) {
      const Tensor c = random.tensor(shape);
      const Attributes attributes{{"transA", std::int64_t{ta}},
                                  {"transB", std::int64_t{tb}},
                                  {"alpha", 0.5F},
                                  {"beta", 2.F}};
      for (const bool known : {true, false}) {
        const Tensor y = product("Gemm", a, b, known, {4, 3}, attributes, &c);
        for_each_index({4, 3}, [&](const Shape& at) {
          Shape bias_at(at.end() - static_cast<std::ptrdiff_t>(shape.size()), at.end());
          for (std::size_t i = 0; i < shape.size(); ++i) {
            bias_at[i] = shape[i] == 1 ? 0 : bias_at[i];
          }
          Sum sum;
          sum.add(2, c.view<float>()[offset(shape, bias_at)]);
          for (std::int64_t k = 0; k < 6; ++k) {
            const Shape from_a = ta ? Shape{k, at[0]} : Shape{at[0], k};
            const Shape from_b = tb ? Shape{at[1], k} : Shape{k, at[1]};
            sum.add(0.5 * a.view<float>()[offset(a.shape(), from_a)],
                    b.view<float>()[offset(b.shape(), from_b)]);
          }
          ASSERT_NEAR(y.view<float>()[offset({4, 3}, at)], sum.value, sum.bound())
              << "transA " << ta << " transB " << tb << " C " << to_string(shape);
        });
      }
    }
  }
}

}  // namespace
}  // namespace tare::test
