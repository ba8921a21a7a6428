
#include "execute/kernel.h"
#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>

#define TARE_X(stem) TARE_KERNEL(stem);
#include "kernel_list.inc"
#undef TARE_X

namespace tare {

const std::vector<KernelInfo>& kernel_registry() {
  static const std::vector<KernelInfo> kernels{
#define TARE_X(stem) tare_kernel_##stem(),
#include "kernel_list.inc"
#undef TARE_X
  };
  return kernels;
}

std::vector<const KernelInfo*> kernels_for(const KernelRequest& request) {
  const auto holds_storage = [](const Operand& operand) {
    return operand && operand.type->quant.has_value();
  };
  const bool states = states_accumulator(request.node->attributes);
  const Numerics wanted = numerics(request.node->attributes);
  const auto follows = [&](const KernelInfo& info) {
    return std::find(info.numerics.begin(), info.numerics.end(), wanted) != info.numerics.end();
  };
  std::vector<const KernelInfo*> result;
  for (const bool for_storage : {true, false}) {
    if (for_storage &&
        std::none_of(request.inputs.begin(), request.inputs.end(), holds_storage) &&
        std::none_of(request.outputs.begin(), request.outputs.end(), holds_storage)) {
      continue;
    }
    for (const KernelInfo& info : kernel_registry()) {
      if (info.for_storage == for_storage && (info.takes_accumulators || !states) &&
          follows(info) &&
          std::find(info.ops.begin(), info.ops.end(), request.node->op) != info.ops.end()) {
        result.push_back(&info);
      }
    }
  }
  return result;
}

}  // namespace tare
