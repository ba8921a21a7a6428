#include "execute/operands.h"

namespace tare {
namespace {

bool trains(const KernelRequest& request) {
  if (request.node->op != "Dropout" || !request.has_input(2)) {
    return false;
  }
  return request.integers(2) != std::vector<std::int64_t>{0};
}

std::unique_ptr<Kernel> make_identity(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  if (!uniform(request, 1) || request.outputs.size() != 1 || trains(request)) {
    return nullptr;
  }
  expect_shape(request.outputs[0], x.shape());
  return make_kernel([](const Buffers&) {});
}

}  // namespace
}  // namespace tare

TARE_KERNEL(identity) {
  using namespace tare;
  return {
      .ops = {"Identity", "Dropout"}, .layout = follow, .make = make_identity, .alias = true};
}
