#include "tflite/broadcast.h"

#include <algorithm>

namespace tare::tflite {

Shape common_shape(const OperatorImport& op, const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      op.refuse("its operands have shapes " + to_string(a) + " and " + to_string(b));
    }
    result[rank - 1 - i] = of_a == 1 ? of_b : of_a;
  }
  return result;
}

Broadcast broadcast(OperatorImport& op, std::size_t count) {
  std::size_t rank = 0;
  for (std::size_t i = 0; i < count; ++i) {
    rank = std::max(rank, op.rank(i));
  }
  Broadcast result;
  result.order = rank == kImageRank ? op.common_order() : Order::kFile;
  for (std::size_t i = 0; i < count; ++i) {
    result.values.push_back(op.broadcastable(i, rank, result.order));
    result.shape = common_shape(op, result.shape, op.shape_of(result.values.back()));
  }
  return result;
}

}  // namespace tare::tflite
