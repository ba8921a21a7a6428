#include "tare/error.h"

#include "execute/operands.h"

namespace tare {
namespace {

/// Only whether it is one: alias kernels do not run.
std::unique_ptr<Kernel> make_reshape(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  if (!uniform(request, 1)) {
    return nullptr;
  }
  if (count_of(x) != count_of(request.outputs[0])) {
    throw Error(ErrorCode::kInvalidModel, "",
                to_string(x.shape()) + " has not as many elements as " +
                    to_string(request.outputs[0].shape()));
  }
  return make_kernel([](const Buffers&) {});
}

}  // namespace
}  // namespace tare

TARE_KERNEL(reshape) {
  using namespace tare;
  return {.ops = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"},
          .make = make_reshape,
          .alias = true};
}
