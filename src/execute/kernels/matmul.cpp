#include "tare/error.h"

#include "execute/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <tuple>

#include <Eigen/Core>

namespace tare {
namespace {

using Eigen::Index;
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

[[noreturn]] void refuse(const Shape& a, const Shape& b) {
  throw Error(ErrorCode::kInvalidModel, "",
              "matrices " + to_string(a) + " and " + to_string(b) + " do not fit");
}

/// numpy.matmul: operands of rank 1 are a row on the left and a column on the right, leading
/// axes broadcast.
struct Batches {
  Index rows = 0;
  Index depth = 0;
  Index columns = 0;
  struct Pair {
    Index a = 0;  ///< which matrix of the left operand
    Index b = 0;
  };
  std::vector<Pair> pairs;  ///< one per matrix of the result
  Shape result;
};

Batches make_batches(const Shape& left, const Shape& right) {
  Shape a = left;
  Shape b = right;
  if (a.size() == 1) {
    a.insert(a.begin(), 1);
  }
  if (b.size() == 1) {
    b.push_back(1);
  }
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) {
    refuse(left, right);
  }
  Batches batches{a[a.size() - 2], a.back(), b.back(), {{0, 0}}, {}};
  const std::size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
    if (a[axis] != b[axis] && a[axis] != 1 && b[axis] != 1) {
      refuse(left, right);
    }
    batches.result.push_back(a[axis] == 1 ? b[axis] : a[axis]);
    std::vector<Batches::Pair> finer;
    for (const auto& [at_a, at_b] : batches.pairs) {
      for (std::int64_t i = 0; i < batches.result.back(); ++i) {
        finer.push_back(
            {at_a * a[axis] + (a[axis] == 1 ? 0 : i), at_b * b[axis] + (b[axis] == 1 ? 0 : i)});
      }
    }
    batches.pairs = std::move(finer);
  }
  if (left.size() > 1) {
    batches.result.push_back(batches.rows);
  }
  if (right.size() > 1) {
    batches.result.push_back(batches.columns);
  }
  return batches;
}

template <class T>
void multiply(const Batches& batches, const Buffers& buffers) {
  const auto* a = input<T>(buffers, 0);
  const auto* b = input<T>(buffers, 1);
  auto* y = output<T>(buffers, 0);
  const auto [rows, depth, columns] = std::tuple(batches.rows, batches.depth, batches.columns);
  for (const auto& [at_a, at_b] : batches.pairs) {
    Eigen::Map<Matrix<T>>(y, rows, columns).noalias() =
        Eigen::Map<const Matrix<T>>(a + at_a * rows * depth, rows, depth) *
        Eigen::Map<const Matrix<T>>(b + at_b * depth * columns, depth, columns);
    y += rows * columns;
  }
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const Shape& a = required(request, 0).shape();
  const Shape& b = required(request, 1).shape();
  if (!uniform(request)) {
    return nullptr;
  }
  const Batches batches = make_batches(a, b);
  expect_shape(request.outputs[0], batches.result);
  using Multiplied =
      Types<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;
  return dispatch(Multiplied{}, request.inputs[0].dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([batches](const Buffers& buffers) { multiply<T>(batches, buffers); });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(matmul) {
  using namespace tare;
  return {.ops = {"MatMul"}, .make = make};
}
