// Functions of one value on 8-bit storage values: a table of 256 results, made by expressing
// every storage value, applying the float kernel and quantizing, so that it gives what they
// would.
#include "tare/execute.h"

#include "execute/kernel.h"
#include "graph/affine_ops.h"

#include <array>
#include <cstring>
#include <numeric>

namespace tare {
namespace {

bool is_byte(const Operand& operand) {
  return operand.dtype() == DType::kInt8 || operand.dtype() == DType::kUint8;
}

bool is_per_tensor(const Operand& operand) {
  return operand.type->quant && !operand.type->quant->per_axis();
}

/// What the node makes of each storage value, by its bits.
std::array<std::uint8_t, 256> results_of(const KernelRequest& request) {
  const auto typed = [](const Operand& operand) {
    TensorType type = *operand.type;
    type.shape = {256};
    type.point.clear();
    return type;
  };
  const TensorType from = typed(request.inputs[0]);
  const TensorType to = typed(request.outputs[0]);
  std::array<std::uint8_t, 256> codes;
  std::iota(codes.begin(), codes.end(), std::uint8_t{0});
  Tensor all(from.dtype, from.shape);
  std::memcpy(all.mutable_data(), codes.data(), codes.size());

  TensorType real = from;
  real.dtype = DType::kFloat32;
  real.quant.reset();
  const std::array expressed{dequantize(all, *from.quant)};
  const std::array operands{&expressed[0]};
  const Tensor results =
      quantize(evaluate(*request.node, operands, {&real, 1}).front(), *to.quant);
  std::array<std::uint8_t, 256> table;
  std::memcpy(table.data(), results.data(), table.size());
  return table;
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const Operand& x = request.inputs[0];
  const Operand& y = request.outputs[0];
  if (!is_byte(x) || !is_byte(y) || !is_per_tensor(x) || !is_per_tensor(y)) {
    return nullptr;
  }
  const auto count = static_cast<std::size_t>(element_count(x.shape()));
  return make_kernel([table = results_of(request), count](const Buffers& buffers) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(buffers.inputs[0]);
    auto* to = reinterpret_cast<std::uint8_t*>(buffers.outputs[0]);
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = table[from[i]];
    }
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(by_table) {
  using namespace tare;
  return {.ops = affine_ops({AffineRule::kTabulates}),
          .layout = [](const KernelRequest&) { return LayoutRule::kFollow; },
          .make = make,
          .in_place = true,
          .for_storage = true};
}
