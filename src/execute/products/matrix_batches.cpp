// Which matrices of two operands meet, by the rules of numpy.matmul, on which ONNX's MatMul is
// defined.
#include "execute/products/matrix_batches.h"

#include "tare/error.h"

#include <algorithm>

namespace tare {
namespace {

[[noreturn]] void refuse(const Shape& a, const Shape& b) {
  throw Error(ErrorCode::kInvalidModel, "",
              "matrices " + to_string(a) + " and " + to_string(b) + " do not fit");
}

}  // namespace

MatrixBatches make_matrix_batches(const Shape& left, const Shape& right) {
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
  MatrixBatches batches{a[a.size() - 2], a.back(), b.back(), {{0, 0}}, {}};
  const std::size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
    if (a[axis] != b[axis] && a[axis] != 1 && b[axis] != 1) {
      refuse(left, right);
    }
    const std::int64_t extent = a[axis] == 1 ? b[axis] : a[axis];
    batches.result.push_back(extent);
    std::vector<MatrixBatches::Pair> finer;
    for (const auto& [at_a, at_b] : batches.pairs) {
      for (std::int64_t i = 0; i < extent; ++i) {
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

}  // namespace tare
