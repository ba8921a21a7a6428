#include "execute/kernel.h"

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

}  // namespace tare
