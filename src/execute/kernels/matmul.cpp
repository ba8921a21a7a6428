#include "tare/error.h"

#include "execute/kernel.h"

#include <algorithm>

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
  Batches result{a[a.size() - 2], a.back(), b.back(), {{0, 0}}};
  const std::size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
    if (a[axis] != b[axis] && a[axis] != 1 && b[axis] != 1) {
      refuse(left, right);
    }
    const std::int64_t extent = a[axis] == 1 ? b[axis] : a[axis];
    std::vector<Batches::Pair> finer;
    for (const auto& [at_a, at_b] : result.pairs) {
      for (std::int64_t i = 0; i < extent; ++i) {
        finer.push_back(
            {at_a * a[axis] + (a[axis] == 1 ? 0 : i), at_b * b[axis] + (b[axis] == 1 ? 0 : i)});
      }
    }
    result.pairs = std::move(finer);
  }
  return result;
}

template <class T>
void multiply(const Batches& batches, const Buffers& buffers) {
  const auto* a = reinterpret_cast<const T*>(buffers.inputs[0]);
  const auto* b = reinterpret_cast<const T*>(buffers.inputs[1]);
  auto* y = reinterpret_cast<T*>(buffers.outputs[0]);
  const auto& [rows, depth, columns, pairs] = batches;
  for (const auto& [at_a, at_b] : pairs) {
    Eigen::Map<Matrix<T>>(y, rows, columns).noalias() =
        Eigen::Map<const Matrix<T>>(a + at_a * rows * depth, rows, depth) *
        Eigen::Map<const Matrix<T>>(b + at_b * depth * columns, depth, columns);
    y += rows * columns;
  }
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  if (request.inputs[0].dtype() != request.inputs[1].dtype()) {
    return nullptr;
  }
  const Batches batches = make_batches(request.inputs[0].shape(), request.inputs[1].shape());
  const auto kernel = [&]<class T>(T) {
    return make_kernel([batches](const Buffers& buffers) { multiply<T>(batches, buffers); });
  };
  switch (request.inputs[0].dtype()) {
    case DType::kFloat32:
      return kernel(float{});
    case DType::kFloat64:
      return kernel(double{});
    case DType::kInt32:
      return kernel(std::int32_t{});
    case DType::kInt64:
      return kernel(std::int64_t{});
    case DType::kUint32:
      return kernel(std::uint32_t{});
    case DType::kUint64:
      return kernel(std::uint64_t{});
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace tare

TARE_KERNEL(matmul) {
  using namespace tare;
  return {.ops = {"MatMul"}, .make = make};
}
