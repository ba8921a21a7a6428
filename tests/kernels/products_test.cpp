
#include "graph/operators/product.h"
#include "kernels/endings.h"
#include "support/graphs.h"
#include "support/index.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Matrices [rows, depth] and [depth, columns], with leading axes that broadcast.
struct Matrices {
  Shape left_batch, right_batch, batch;  ///< of one rank
  std::int64_t rows = 1, depth = 1, columns = 1;

  Shape left() const { return joined(left_batch, rows, depth); }
  Shape right() const { return joined(right_batch, depth, columns); }
  Shape result() const { return joined(batch, rows, columns); }

  static Shape joined(Shape front, std::int64_t a, std::int64_t b) {
    front.push_back(a);
    front.push_back(b);
    return front;
  }
};

Matrices random_matrices(std::int64_t most_batch_axes, Random& random) {
  constexpr std::int64_t kMostProducts = 200'000;
  Matrices m;
  do {
    m = {};
    m.rows = one_in(3, random) ? 1 : random_channels(random);
    m.depth = one_in(4, random) ? random.integer(1, 300) : random_channels(random);
    m.columns = random_channels(random);
    for (std::int64_t i = random.integer(0, most_batch_axes); i > 0; --i) {
      const std::int64_t extent = random.integer(1, 3);
      m.batch.push_back(extent);
      m.left_batch.push_back(extent);
      m.right_batch.push_back(extent);
      if (one_in(3, random)) {
        (random.coin() ? m.left_batch : m.right_batch).back() = 1;
      }
    }
  } while (element_count(m.batch) * m.rows * m.depth * m.columns > kMostProducts);
  return m;
}

/// Number of the matrix that takes part in the one with this number of the result.
std::size_t matrix_of(const Shape& batch, const Shape& own, std::int64_t number) {
  std::int64_t result = 0;
  std::int64_t step = 1;
  for (std::size_t axis = batch.size(); axis-- > 0; number /= batch[axis]) {
    result += own[axis] == 1 ? 0 : number % batch[axis] * step;
    step *= own[axis];
  }
  return static_cast<std::size_t>(result);
}

/// Calls add(element of the result, of the left, of the right) for every product.
template <class Add>
void for_each_product(const Matrices& m, Add add) {
  const auto rows = static_cast<std::size_t>(m.rows);
  const auto depth = static_cast<std::size_t>(m.depth);
  const auto columns = static_cast<std::size_t>(m.columns);
  std::size_t y = 0;
  for (std::int64_t n = 0; n < element_count(m.batch); ++n) {
    const std::size_t left = matrix_of(m.batch, m.left_batch, n) * rows * depth;
    const std::size_t right = matrix_of(m.batch, m.right_batch, n) * depth * columns;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column, ++y) {
        for (std::size_t k = 0; k < depth; ++k) {
          add(y, left + row * depth + k, right + k * columns + column);
        }
      }
    }
  }
}

int last_axis(const Shape& shape) {
  return static_cast<int>(shape.size()) - 1;
}

std::string wrong_matmul(Random& random) {
  Matrices m = random_matrices(2, random);
  const bool constant = random.coin();
  Shape right = m.right();
  if (random.coin()) {  // a plain matrix, as layers have it
    std::fill(m.right_batch.begin(), m.right_batch.end(), 1);
    right = {m.depth, m.columns};
  }
  for (std::size_t i = 0; i < m.batch.size(); ++i) {
    m.batch[i] = std::max(m.left_batch[i], m.right_batch[i]);
  }
  Trial trial(random);
  const auto x = trial.operand(m.left(), false);
  const auto weights = trial.operand(right, constant);
  const auto from = x.values.view<float>();
  const auto factors = weights.values.view<float>();
  std::vector<Sum> sums(static_cast<std::size_t>(element_count(m.result())));
  for_each_product(m, [&](std::size_t y, std::size_t a, std::size_t b) {
    sums[y].add(static_cast<double>(from[a]), static_cast<double>(factors[b]));
  });
  Expected expected(sums, trial.whole);
  const Ending ending(m.result(), last_axis(m.result()), random);
  const ValueId y = trial.add("MatMul", {x.id, weights.id}, ending.sum_type());
  return trial.wrong(ending.append(trial, y, expected), expected);
}

/// Element (row, column) of a [rows, columns] matrix, possibly stored transposed.
Tensor stored(const Tensor& matrix, bool transposed) {
  if (!transposed) {
    return matrix;
  }
  const std::int64_t rows = matrix.shape()[0];
  const std::int64_t columns = matrix.shape()[1];
  Tensor result(DType::kFloat32, {columns, rows});
  for_each_index(matrix.shape(), [&](const Shape& at) {
    result.mutable_view<float>()[offset(result.shape(), {at[1], at[0]})] =
        matrix.view<float>()[offset(matrix.shape(), at)];
  });
  return result;
}

std::string wrong_gemm(Random& random) {
  const Matrices m = random_matrices(0, random);
  Trial trial(random);
  const bool transposed_a = one_in(3, random);
  const bool transposed_b = random.coin();
  // Powers of two, so that whole numbers stay exact.
  const float alpha = one_in(3, random) ? 0.5F : 1.F;
  const float beta = one_in(3, random) ? 2.F : 1.F;
  const Tensor a = trial.numbers(m.left());
  const Tensor b = trial.numbers(m.right());
  const auto operand = [&](const Tensor& values, bool constant) {
    return trial.operand(values, f32(values.shape()), constant).id;
  };
  std::vector<ValueId> operands{operand(stored(a, transposed_a), false),
                                operand(stored(b, transposed_b), !one_in(4, random))};
  std::vector<Sum> sums(static_cast<std::size_t>(m.rows * m.columns));
  for_each_product(m, [&](std::size_t y, std::size_t left, std::size_t right) {
    sums[y].add(static_cast<double>(alpha * a.view<float>()[left]),
                static_cast<double>(b.view<float>()[right]));
  });
  if (random.coin()) {
    const std::vector<Shape> shapes{{m.columns}, {m.columns}, {1, m.columns},     {m.rows, 1},
                                    {},          {1},         {m.rows, m.columns}};
    const Shape shape =
        shapes[static_cast<std::size_t>(random.integer(0, std::ssize(shapes) - 1))];
    const Tensor c = trial.numbers(shape);
    operands.push_back(operand(c, !one_in(4, random)));
    for_each_index({m.rows, m.columns}, [&](const Shape& at) {
      Shape from(at.end() - static_cast<std::ptrdiff_t>(shape.size()), at.end());
      for (std::size_t i = 0; i < shape.size(); ++i) {
        from[i] = shape[i] == 1 ? 0 : from[i];
      }
      sums[offset({m.rows, m.columns}, at)].add(
          static_cast<double>(beta), static_cast<double>(c.view<float>()[offset(shape, from)]));
    });
  }
  Expected expected(sums, trial.whole);
  const Ending ending(m.result(), last_axis(m.result()), random);
  const ValueId y = trial.add("Gemm", operands, ending.sum_type(),
                              {{"transA", std::int64_t{transposed_a}},
                               {"transB", std::int64_t{transposed_b}},
                               {"alpha", alpha},
                               {"beta", beta}});
  return trial.wrong(ending.append(trial, y, expected), expected);
}

/// Sums of at most so many products, each rounded once when multiplied and once when added;
/// small integers are exact in any order.
TEST(RandomShapes, OfMatrixProductsGiveTheSumsOfAPlainLoop) {
  hold_for_random_shapes(
      [](Random& random) { return random.coin() ? wrong_gemm(random) : wrong_matmul(random); });
}

struct Storage {
  DType type;
  std::vector<std::int32_t> zeros;

  TensorType as(Shape shape, int axis) const {
    QuantParams params{.storage = type,
                       .scale = std::vector<float>(zeros.size(), 1),
                       .zero_point = zeros,
                       .axis = {}};
    if (zeros.size() > 1) {
      params.axis = axis;
    }
    return {.dtype = type, .shape = std::move(shape), .quant = params, .point = {}};
  }
};

Storage random_storage_of(std::size_t count, bool bytes, Random& random) {
  Storage storage{bytes || !one_in(6, random)
                      ? (random.coin() ? DType::kUint8 : DType::kInt8)
                      : (random.coin() ? DType::kUint16 : DType::kInt16),
                  std::vector<std::int32_t>(count)};
  const StorageRange range = storage_range(storage.type, false);
  for (auto& zero : storage.zeros) {
    zero = static_cast<std::int32_t>(random.integer(range.low, range.high));
  }
  return storage;
}

/// Zero points of the right side are those of columns, or one.
Expected exact_sums(const Matrices& m, const Tensor& x,
                    const std::vector<std::int32_t>& x_zeros, const Tensor& w,
                    const std::vector<std::int32_t>& w_zeros) {
  const auto from = x.to_int64();
  const auto factors = w.to_int64();
  const auto depth = static_cast<std::size_t>(m.depth);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(element_count(m.result())));
  for_each_product(m, [&](std::size_t y, std::size_t a, std::size_t b) {
    sums[y] += (from[a] - x_zeros[a / depth % x_zeros.size()]) *
               (factors[b] - w_zeros[b % w_zeros.size()]);
  });
  Expected expected(sums.size());
  std::copy(sums.begin(), sums.end(), expected.values.begin());  // below 2^53
  return expected;
}

/// Sums of some may be more than float32 holds.
Matrices random_byte_matrices(std::int64_t most_batch_axes, Random& random) {
  Matrices m = random_matrices(most_batch_axes, random);
  if (one_in(6, random)) {
    m.rows = random.integer(1, 3);
    m.depth = random.integer(1000, 3000);
  }
  return m;
}

/// A layer of bytes in a simulated graph. Float sums of integers are exact up to 2^24.
std::string wrong_simulated_product(Random& random) {
  const bool gemm = random.coin();
  Matrices m = random_byte_matrices(gemm ? 0 : 2, random);
  std::fill(m.right_batch.begin(), m.right_batch.end(), 1);
  m.batch = m.left_batch;
  Trial trial(random);
  trial.whole = false;
  Storage x = random_storage_of(1, true, random);
  if (random.coin()) {
    x.zeros = {0};
  }
  const Storage w{DType::kInt8, {0}};
  const Shape right{m.depth, m.columns};
  const TensorType from = x.as(m.left(), 0);
  const auto values =
      simulated_operand(trial, random_storage(x.type, m.left(), random), from, false);
  const auto weights = simulated_operand(trial, random_storage(w.type, right, random),
                                         w.as(right, 1), !one_in(4, random));
  std::vector<ValueId> operands{without_zero_point(trial, values, from), weights.id};
  std::vector<Sum> sums(static_cast<std::size_t>(element_count(m.result())));
  const auto numbers = values.values.to_double();
  const auto factors = weights.values.to_double();
  for_each_product(m, [&](std::size_t y, std::size_t a, std::size_t b) {
    sums[y].add(numbers[a] - x.zeros[0], factors[b]);
  });
  if (gemm && random.coin()) {
    Tensor bias(DType::kFloat32, {m.columns});
    for (float& value : bias.mutable_view<float>()) {
      value = static_cast<float>(random.integer(-20000, 20000));
    }
    const TensorType type = Storage{DType::kInt32, {0}}.as(bias.shape(), 0);
    operands.push_back(simulated_operand(trial, bias, type, true).id);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto column = i % static_cast<std::size_t>(m.columns);
      sums[i].add(static_cast<double>(bias.view<float>()[column]), 1);
    }
  }
  const bool exact = std::all_of(sums.begin(), sums.end(),
                                 [](const Sum& sum) { return sum.magnitude <= 0x1p24; });
  Expected expected(sums, exact);
  const Ending ending(m.result(), last_axis(m.result()), random);
  const ValueId y = trial.add(gemm ? "Gemm" : "MatMul", operands, ending.sum_type());
  return trial.wrong(ending.append(trial, y, expected), expected);
}

TEST(RandomShapes, OfSimulatedMatrixProductsGiveTheSumsOfAPlainLoop) {
  hold_for_random_shapes(wrong_simulated_product);
}

std::string wrong_integer_product(Random& random) {
  const bool gemm = random.coin();
  Matrices m = random_byte_matrices(gemm ? 0 : 2, random);
  Trial trial(random);
  const bool constant = gemm || random.coin();
  if (constant) {
    std::fill(m.right_batch.begin(), m.right_batch.end(), 1);
    m.batch = m.left_batch;
  }
  const Shape right = constant ? Shape{m.depth, m.columns} : m.right();
  const Storage x = random_storage_of(1, false, random);
  Storage w = random_storage_of(
      constant && random.coin() ? static_cast<std::size_t>(m.columns) : 1, false, random);
  if (random.coin()) {  // as most files have it
    std::fill(w.zeros.begin(), w.zeros.end(), w.type == DType::kUint8 ? 128 : 0);
  }
  const auto values =
      trial.operand(random_storage(x.type, m.left(), random), x.as(m.left(), 0), false);
  const auto weights =
      trial.operand(random_storage(w.type, right, random), w.as(right, 1), constant);
  Expected expected = exact_sums(m, values.values, x.zeros, weights.values, w.zeros);
  std::vector<ValueId> operands{values.id, weights.id};
  if (gemm && random.coin()) {
    Tensor bias(DType::kInt32, {m.columns});
    const std::int64_t most = one_in(6, random) ? 1 << 30 : 20000;
    for (auto& value : bias.mutable_view<std::int32_t>()) {
      value = static_cast<std::int32_t>(random.integer(-most, most));
    }
    operands.push_back(
        trial.operand(bias, Storage{DType::kInt32, {0}}.as(bias.shape(), 0), true).id);
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      expected.values[i] += bias.view<std::int32_t>()[i % static_cast<std::size_t>(m.columns)];
    }
  }
  const IntegerEnding ending(sum_type(x.type, w.type, {}), m.result(), last_axis(m.result()),
                             random);
  const ValueId y = trial.add(gemm ? "Gemm" : "MatMul", operands, ending.sum_type());
  return trial.wrong(ending.append(trial, y, expected), expected);
}

std::string wrong_matmul_integer(Random& random) {
  Matrices m = random_matrices(1, random);
  m.left_batch = m.batch;
  std::fill(m.right_batch.begin(), m.right_batch.end(), 1);
  Trial trial(random);
  const Storage x =
      random_storage_of(random.coin() ? static_cast<std::size_t>(m.rows) : 1, true, random);
  const Storage w =
      random_storage_of(random.coin() ? static_cast<std::size_t>(m.columns) : 1, true, random);
  const auto operand = [&](const Tensor& values) {
    return trial.operand(values, typed(values.dtype(), values.shape()), random.coin()).id;
  };
  const auto zeros = [&](const Storage& storage) {
    const auto count = static_cast<std::int64_t>(storage.zeros.size());
    Tensor tensor(storage.type, {count});
    for (std::size_t i = 0; i < storage.zeros.size(); ++i) {
      tensor.mutable_data()[i] = static_cast<std::byte>(storage.zeros[i]);
    }
    return operand(tensor);
  };
  const Tensor left = random_storage(x.type, m.left(), random);
  const Tensor right = random_storage(w.type, {m.depth, m.columns}, random);
  const std::vector<ValueId> operands{operand(left), operand(right), zeros(x), zeros(w)};
  const ValueId y = trial.add("MatMulInteger", operands, typed(DType::kInt32, m.result()));
  return trial.wrong(y, exact_sums(m, left, x.zeros, right, w.zeros));
}

TEST(RandomShapes, OfIntegerMatrixProductsGiveTheVeryIntegersOfAPlainLoop) {
  hold_for_random_shapes([](Random& random) {
    return one_in(4, random) ? wrong_matmul_integer(random) : wrong_integer_product(random);
  });
}

}  // namespace
}  // namespace tare::test
