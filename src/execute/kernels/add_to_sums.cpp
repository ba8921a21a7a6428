// Sums of products and a constant of the same scale; sums that leave int32 keep their lowest
// bits, as the products' own do.
#include "execute/elements/elementwise.h"

namespace tare {
namespace {

bool holds_sums(const Operand& operand, const QuantParams& params) {
  return operand && operand.type->quant == params;
}

std::unique_ptr<Kernel> make_add_to_sums(const KernelRequest& request) {
  static const NamedMaker kSum =
      binary("Add", Types<std::int32_t>{}, fixed([](auto a, auto b) {
               return static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b);
             }));
  const auto& params = request.outputs[0].type->quant;
  const bool alike = params && params->storage == DType::kInt32 && !params->per_axis() &&
                     params->zero_point[0] == 0 && holds_sums(request.inputs[0], *params) &&
                     holds_sums(request.inputs[1], *params);
  return alike ? kSum.make(request) : nullptr;
}

}  // namespace
}  // namespace tare

TARE_KERNEL(add_to_sums) {
  using namespace tare;
  return {.ops = {"Add"},
          .layout = [](const KernelRequest&) { return LayoutRule::kFollow; },
          .make = make_add_to_sums,
          .for_storage = true};
}
