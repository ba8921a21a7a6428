#pragma once

#include "execute/kernel.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace tare {

/// Does something before another kernel runs, or behind it, with scratch memory of its own.
class WrappedKernel : public Kernel {
 public:
  std::size_t scratch_bytes() const override { return offset_ + kernel_->scratch_bytes(); }
  bool packs(std::size_t operand) const override { return kernel_->packs(operand); }
  std::size_t packed_bytes() const override { return kernel_->packed_bytes(); }
  std::unique_ptr<KernelState> make_state() const override { return kernel_->make_state(); }

 protected:
  WrappedKernel(std::size_t own_scratch, std::unique_ptr<Kernel> kernel)
      : offset_((own_scratch + kAlignment - 1) / kAlignment * kAlignment),
        kernel_(std::move(kernel)) {}

  /// The other kernel, on these buffers.
  void run_kernel(const Buffers& buffers) const {
    kernel_->run({buffers.inputs, buffers.outputs, buffers.scratch + offset_, buffers.state});
  }
  /// With the first operand in this kernel's own scratch memory.
  void run_kernel_on_scratch(const Buffers& buffers) const {
    std::vector<const std::byte*> inputs(buffers.inputs.begin(), buffers.inputs.end());
    inputs[0] = buffers.scratch;
    run_kernel({inputs, buffers.outputs, buffers.scratch, buffers.state});
  }

 private:
  static constexpr std::size_t kAlignment = 64;  // as of all scratch memory
  std::size_t offset_;                           ///< of the other kernel's
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace tare
