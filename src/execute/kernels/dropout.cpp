#include "execute/operands.h"

#include <cstring>

namespace tare {
namespace {

bool drops(const KernelRequest& request) {
  const bool trains = request.has_input(2) && request.integers(2).at(0) != 0;
  const bool ratio_is_zero = request.has_input(1) && request.inputs[1].constant != nullptr &&
                             request.inputs[1].constant->to_double().at(0) == 0.0;
  return trains && !ratio_is_zero;
}

/// The form with a mask of what was kept, which without training is everything.
std::unique_ptr<Kernel> make_dropout(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  if (!uniform(request, 1) || drops(request)) {
    return nullptr;
  }
  for (const Operand& y : request.outputs) {
    expect_shape(y, x.shape());
  }
  if (request.outputs.size() > 1 && request.outputs[1].dtype() != DType::kBool) {
    return nullptr;
  }
  return make_kernel(
      [count = count_of(x), bytes = count_of(x) * size_of(x.dtype())](const Buffers& b) {
        std::memcpy(b.outputs[0], b.inputs[0], bytes);
        if (b.outputs.size() > 1) {
          std::memset(b.outputs[1], 1, count);
        }
      });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(dropout) {
  using namespace tare;
  return {.ops = {"Dropout"}, .layout = follow, .make = make_dropout};
}
