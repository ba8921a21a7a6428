#include "reconstruct/gradient_rule.h"
#include "reconstruct/gradient_trial.h"

#include <algorithm>
#include <cmath>

namespace tare::test {
namespace {

OperatorTrials reduction(std::string op, bool by_operand,
                         const std::function<Tensor(Random&, Shape)>& make) {
  return {op, [=](Random& random, Trial& trial) {
            const Shape shape = random_shape(random, 1, op == "ReduceProd" ? 1 : 4);
            std::vector<std::int64_t> axes;
            Shape result;
            const bool keep = random.coin();
            for (std::size_t i = 0; i < shape.size(); ++i) {
              const bool reduced = random.coin() || (i + 1 == shape.size() && axes.empty());
              if (reduced) {
                axes.push_back(static_cast<std::int64_t>(i));
              }
              if (!reduced || keep) {
                result.push_back(reduced ? 1 : shape[i]);
              }
            }
            std::vector<ValueId> operands{trial.input(make(random, shape))};
            Attributes attributes{{"keepdims", std::int64_t{keep}}};
            if (by_operand) {
              operands.push_back(trial.integers(axes));
            } else {
              attributes.set("axes", axes);
            }
            trial.result(op, operands, result, attributes);
          }};
}

OperatorTrials along_axis(std::string op, Attributes attributes = {}) {
  return {op, [=](Random& random, Trial& trial) {
            const Shape shape = random_shape(random, 2, 4);
            Attributes own = attributes;
            own.set("axis", random.integer(-static_cast<std::int64_t>(shape.size()),
                                           static_cast<std::int64_t>(shape.size()) - 1));
            trial.result(op, {trial.input(numbers(random, shape))}, shape, own);
          }};
}

void convolution(Random& random, Trial& trial) {
  const auto axes = static_cast<std::size_t>(random.integer(1, 2));
  const std::int64_t groups = random.integer(1, 3);
  const bool depthwise = random.integer(0, 2) == 0;
  const std::int64_t in = depthwise ? 1 : random.integer(1, 3);
  const std::int64_t out = random.integer(1, 3);
  Shape x{random.integer(1, 2), groups * in};
  Shape w{groups * out, in};
  Shape y{x[0], w[0]};
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t kernel = random.integer(1, 3);
    strides.push_back(random.integer(1, 2));
    dilations.push_back(random.integer(1, 2));
    begin.push_back(random.integer(0, 1));
    end.push_back(random.integer(0, 1));
    const std::int64_t reach = (kernel - 1) * dilations.back() + 1;
    x.push_back(reach + random.integer(0, 5));
    w.push_back(kernel);
    y.push_back((x.back() + begin.back() + end.back() - reach) / strides.back() + 1);
  }
  begin.insert(begin.end(), end.begin(), end.end());
  std::vector<ValueId> operands{trial.input(numbers(random, x)),
                                trial.input(numbers(random, w))};
  if (random.coin()) {
    operands.push_back(trial.input(numbers(random, {w[0]})));
  }
  trial.result(
      "Conv", operands, y,
      {{"group", groups}, {"strides", strides}, {"dilations", dilations}, {"pads", begin}});
}

void transposed_convolution(Random& random, Trial& trial) {
  const auto axes = static_cast<std::size_t>(random.integer(1, 2));
  const std::int64_t groups = random.integer(1, 2);
  const std::int64_t in = random.integer(1, 3);
  const std::int64_t out = random.integer(1, 3);
  Shape x{random.integer(1, 2), groups * in};
  Shape w{groups * in, out};
  Shape y{x[0], groups * out};
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::vector<std::int64_t> more;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t kernel = random.integer(2, 3);
    strides.push_back(random.integer(1, 2));
    begin.push_back(random.integer(0, 1));
    end.push_back(random.integer(0, 1));
    more.push_back(random.integer(0, strides.back() - 1));
    x.push_back(random.integer(2, 4));
    w.push_back(kernel);
    y.push_back((x.back() - 1) * strides.back() + kernel + more.back() - begin.back() -
                end.back());
  }
  begin.insert(begin.end(), end.begin(), end.end());
  std::vector<ValueId> operands{trial.input(numbers(random, x)),
                                trial.input(numbers(random, w))};
  if (random.coin()) {
    operands.push_back(trial.input(numbers(random, {y[1]})));
  }
  trial.result(
      "ConvTranspose", operands, y,
      {{"group", groups}, {"strides", strides}, {"pads", begin}, {"output_padding", more}});
}

OperatorTrials pool(std::string op) {
  return {
      op, [=](Random& random, Trial& trial) {
        const auto axes = static_cast<std::size_t>(random.integer(1, 2));
        Shape x{random.integer(1, 2), random.integer(1, 3)};
        Shape y = x;
        std::vector<std::int64_t> kernel;
        std::vector<std::int64_t> strides;
        std::vector<std::int64_t> pads;
        for (std::size_t i = 0; i < axes; ++i) {
          kernel.push_back(random.integer(1, 3));
          strides.push_back(random.integer(1, 2));
          pads.push_back(kernel.back() > 1 ? random.integer(0, 1) : 0);
          x.push_back(kernel.back() + random.integer(0, 4));
          y.push_back((x.back() + 2 * pads.back() - kernel.back()) / strides.back() + 1);
        }
        const std::vector<std::int64_t> end = pads;
        pads.insert(pads.end(), end.begin(), end.end());
        Attributes attributes{{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
        if (op == "AveragePool") {
          attributes.set("count_include_pad", random.integer(0, 1));
        }
        trial.result(op, {trial.input(distinct(random, x))}, y, attributes);
      }};
}

OperatorTrials global_pool(std::string op) {
  return {op, [=](Random& random, Trial& trial) {
            const Shape x = random_shape(random, 3, 4);
            Shape y(x.size(), 1);
            std::copy_n(x.begin(), 2, y.begin());
            trial.result(op, {trial.input(distinct(random, x))}, y);
          }};
}

void matmul(Random& random, Trial& trial) {
  const Shape batches = random_shape(random, 1, 2);
  const std::int64_t rows = random.integer(1, 4);
  const std::int64_t depth = random.integer(1, 4);
  const std::int64_t columns = random.integer(1, 4);
  const auto matrices = [&](std::int64_t height, std::int64_t width) {
    Shape shape = random.coin() ? batches : random.coin() ? Shape{} : narrowed(random, batches);
    shape.push_back(height);
    shape.push_back(width);
    return shape;
  };
  const Shape a = matrices(rows, depth);
  const Shape b = random.integer(0, 4) == 0 ? Shape{depth} : matrices(depth, columns);
  Shape y = b.size() == 1
                ? Shape(a.begin(), a.end() - 2)
                : broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  y.push_back(rows);
  if (b.size() > 1) {
    y.push_back(columns);
  }
  trial.result("MatMul", {trial.input(numbers(random, a)), trial.input(numbers(random, b))}, y);
}

void gemm(Random& random, Trial& trial) {
  const std::int64_t rows = random.integer(1, 5);
  const std::int64_t depth = random.integer(1, 5);
  const std::int64_t columns = random.integer(1, 5);
  const bool a_transposed = random.coin();
  const bool b_transposed = random.coin();
  std::vector<ValueId> operands{
      trial.input(numbers(random, a_transposed ? Shape{depth, rows} : Shape{rows, depth})),
      trial.input(
          numbers(random, b_transposed ? Shape{columns, depth} : Shape{depth, columns}))};
  if (random.coin()) {
    operands.push_back(
        trial.input(numbers(random, random.coin() ? Shape{columns} : Shape{rows, 1})));
  }
  trial.result("Gemm", operands, {rows, columns},
               {{"transA", std::int64_t{a_transposed}},
                {"transB", std::int64_t{b_transposed}},
                {"alpha", random.coin() ? 1.0F : 0.5F},
                {"beta", random.coin() ? 1.0F : 2.0F}});
}

/// Rows that are not nearly constant, whose normalization would have large derivatives.
Tensor uneven(Random& random, Shape shape) {
  Tensor result = numbers(random, std::move(shape), 0.5F, 2);
  const auto values = result.mutable_view<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 2 == 0 ? std::abs(values[i]) : -std::abs(values[i]);
  }
  return result;
}

void layer_normalization(Random& random, Trial& trial) {
  const Shape shape{random.integer(1, 3), random.integer(1, 3), 2 * random.integer(1, 4)};
  const std::int64_t axis = random.coin() ? 2 : 1;
  const Shape row(shape.begin() + axis, shape.end());
  std::vector<ValueId> operands{trial.input(uneven(random, shape)),
                                trial.input(numbers(random, row))};
  if (random.coin()) {
    operands.push_back(trial.input(numbers(random, row)));
  }
  trial.result("LayerNormalization", operands, shape, {{"axis", axis}});
}

void instance_normalization(Random& random, Trial& trial) {
  const Shape shape{random.integer(1, 3), random.integer(1, 3), 2 * random.integer(1, 4)};
  const Shape row{shape[1]};
  trial.result("InstanceNormalization",
               {trial.input(uneven(random, shape)), trial.input(numbers(random, row)),
                trial.input(numbers(random, row))},
               shape);
}

void batch_normalization(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 2, 4);
  const Shape row{shape[1]};
  trial.result("BatchNormalization",
               {trial.input(numbers(random, shape)), trial.input(numbers(random, row)),
                trial.input(numbers(random, row)), trial.constant(numbers(random, row)),
                trial.constant(positive(random, row))},
               shape);
}

void mean_variance_normalization(Random& random, Trial& trial) {
  const Shape shape{random.integer(1, 3), random.integer(1, 3), 3, 2 * random.integer(1, 2)};
  trial.result("MeanVarianceNormalization", {trial.input(uneven(random, shape))}, shape);
}

}  // namespace

std::vector<OperatorTrials> layer_trials() {
  const auto any = [](Random& random, Shape shape) {
    return numbers(random, std::move(shape));
  };
  // Products of up to 5 numbers.
  const auto near_one = [](Random& random, Shape shape) {
    return positive(random, std::move(shape), 0.95F, 1.05F);
  };
  const auto above = [](Random& random, Shape shape) {
    return positive(random, std::move(shape), 0.7F);
  };
  const auto apart = [](Random& random, Shape shape) {
    return distinct(random, std::move(shape));
  };
  return {along_axis("Softmax"),
          along_axis("LogSoftmax"),
          {"LayerNormalization", layer_normalization},
          {"InstanceNormalization", instance_normalization},
          {"BatchNormalization", batch_normalization},
          {"MeanVarianceNormalization", mean_variance_normalization},
          along_axis("LpNormalization", {{"p", std::int64_t{2}}}),
          along_axis("LpNormalization", {{"p", std::int64_t{1}}}),
          reduction("ReduceSum", true, any),
          reduction("ReduceMean", false, any),
          reduction("ReduceMax", false, apart),
          reduction("ReduceMin", false, apart),
          reduction("ReduceProd", false, near_one),
          reduction("ReduceL1", false, any),
          reduction("ReduceL2", false, above),
          reduction("ReduceSumSquare", false, any),
          reduction("ReduceLogSum", false, above),
          reduction("ReduceLogSumExp", false, any),
          {"Conv", convolution},
          {"ConvTranspose", transposed_convolution},
          {"MatMul", matmul},
          {"Gemm", gemm},
          pool("AveragePool"),
          pool("MaxPool"),
          global_pool("GlobalAveragePool"),
          global_pool("GlobalMaxPool")};
}

}  // namespace tare::test
