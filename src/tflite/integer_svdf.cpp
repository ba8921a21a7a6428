#include "tflite/integer_svdf.h"

#include "tflite/kernel_arithmetic.h"

#include <algorithm>
#include <array>

namespace tare::tflite {
namespace {

constexpr std::size_t kSvdfBias = 3;
constexpr std::size_t kSvdfState = 4;

/// The weights of what is newest in the state.
std::vector<std::int64_t> last_column(const Tensor& matrix) {
  const auto width = static_cast<std::size_t>(matrix.shape()[1]);
  const auto all = matrix.view<std::int64_t>();
  std::vector<std::int64_t> result;
  for (std::size_t i = width - 1; i < all.size(); i += width) {
    result.push_back(all[i]);
  }
  return result;
}

}  // namespace

bool is_integer_svdf(const OperatorImport& op) {
  const std::array tensors{&op.input(0), &op.input(1), &op.input(2), &op.input(kSvdfState),
                           &op.output()};
  return follows_tflite(op) &&
         std::all_of(tensors.begin(), tensors.end(), [](const FileTensor* tensor) {
           return tensor->type.quant && !tensor->type.quant->per_axis();
         });
}

void integer_svdf(OperatorImport& op, std::int64_t rank) {
  const FileTensor& state = op.input(kSvdfState);
  const std::int64_t batch = op.shape(0)[0];
  const std::int64_t filters = op.shape(1)[0];
  const Tensor features = raw_constant(op, 1, op.shape(1));
  const float into_state =
      only_scale(op, op.input(0)) * only_scale(op, op.input(1)) / only_scale(op, state);
  ValueId x = op.add("MatMul", {centred(op, 0), op.number(columns_for_rows(features))},
                     Shape{batch, filters});
  x = rescaled(op, x, static_cast<double>(into_state));
  const std::int64_t zero = only_zero_point(op, state);
  const StorageRange range = state.type.quant->range();
  x = bounded(op, x, range.low - zero, range.high - zero);

  const Shape result{batch, filters / rank};
  x = op.add("Mul", {x, op.indices(last_column(raw_constant(op, 2, op.shape(2))))},
             Shape{batch, filters});
  x = op.add("ReduceSum", {op.reshaped(x, {batch, filters / rank, rank}), op.indices({2})},
             result, {{"keepdims", std::int64_t{0}}});
  if (op.has_input(kSvdfBias)) {
    x = op.add("Add", {x, op.number(raw_constant(op, kSvdfBias, {filters / rank}))}, result);
  }
  const float out =
      only_scale(op, state) * only_scale(op, op.input(2)) / only_scale(op, op.output());
  x = rescaled(op, x, static_cast<double>(out));
  x = with_number(op, "Add", x, only_zero_point(op, op.output()));
  const StorageRange ends = op.output().type.quant->range();
  define_integers(op, bounded(op, x, ends.low, ends.high));
}

}  // namespace tare::tflite
