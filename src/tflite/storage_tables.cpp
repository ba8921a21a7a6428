#include "tflite/storage_tables.h"

#include "graph/arithmetic/rescale.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace tare::tflite {
namespace {

constexpr std::size_t kBytes = 256;

/// By the byte that an integer is stored in; -1 is the last one, as Gather counts.
std::vector<std::int32_t> table_of(const QuantParams& params, int bits, double factor) {
  const FixedPointFactor fixed = fixed_point_factor(factor);
  std::vector<std::int32_t> table(kBytes);
  const StorageRange range = params.range();
  for (std::int64_t q = range.low; q <= range.high; ++q) {
    const auto centred = static_cast<std::int32_t>(q - params.zero_point[0]);
    table[static_cast<std::uint8_t>(q)] = rescale_twice(centred * (1 << bits), fixed);
  }
  return table;
}

}  // namespace

bool computes_by_tables(const OperatorImport& op, const std::vector<std::size_t>& operands) {
  const Numerics numerics = op.numerics();
  return (numerics == Numerics::kTfliteRef || numerics == Numerics::kTfliteBuiltin ||
          numerics == Numerics::kTfliteXnn) &&
         std::all_of(operands.begin(), operands.end(), [&](std::size_t i) {
           const TensorType& type = op.input(i).type;
           return type.quant && !type.quant->per_axis() && size_of(type.dtype) == 1;
         });
}

Rescaled rescaled_by_table(OperatorImport& op, std::size_t i, int bits, double factor) {
  const FileTensor& x = op.input(i);
  const std::vector<std::int32_t> table = table_of(*x.type.quant, bits, factor);
  Rescaled result;
  for (const std::int32_t value : table) {
    result.most = std::max(result.most, std::abs(std::int64_t{value}));
  }
  if (x.constant) {
    std::vector<std::int32_t> values;
    for (const std::int64_t q : x.constant->to_int64()) {
      values.push_back(table[static_cast<std::uint8_t>(q)]);
    }
    result.value = op.number(Tensor::of<std::int32_t>(x.type.shape, values));
    return result;
  }
  const ValueId stored = op.storage(i, Order::kFile);
  const ValueId index = op.cast(stored, DType::kInt32);
  result.value = looked_up(
      op, Tensor::of<std::int32_t>({static_cast<std::int64_t>(kBytes)}, table), index);
  return result;
}

ValueId looked_up(OperatorImport& op, const Tensor& table, ValueId indices) {
  return op.add("Gather", {op.number(table), indices}, op.shape_of(indices),
                {{"axis", std::int64_t{0}}});
}

}  // namespace tare::tflite
