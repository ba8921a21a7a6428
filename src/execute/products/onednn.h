#pragma once

#include "execute/kernel.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <dnnl.hpp>

namespace tare::onednn {

/// The CPU.
const dnnl::engine& engine();

/// Whether kernels may use these instructions.
bool may_use(dnnl::cpu_isa);

/// Strides of elements that lie next to each other, the last axis fastest.
dnnl::memory::dims dense_strides(const dnnl::memory::dims& extents);

/// Channels-last activations of that rank, 3 to 5.
dnnl::memory::format_tag channels_last(std::size_t rank);

/// Room for a copy of the tensor's elements, which lie as `from` says, as `to` says. They are
/// there when packing finishes; at once where `packing` is null.
std::shared_ptr<std::byte[]> reordered(const Tensor&, const dnnl::memory::desc& from,
                                       const dnnl::memory::desc& to, Packing* packing);

/// One argument of a primitive and where its bytes come from.
struct Argument {
  enum class From : std::uint8_t { kInput, kOutput, kScratch, kPacked };
  int id = 0;  ///< DNNL_ARG_...
  dnnl::memory::desc desc;
  From from = From::kInput;
  std::size_t index = 0;  ///< operand; kScratch: offset in bytes
  std::shared_ptr<std::byte[]> packed = {};
};

struct Call {
  dnnl::primitive primitive;
  std::vector<Argument> arguments;
};

/// Primitives that run one after another. Memory objects live in the state: making them anew
/// for each run would cost more than a small convolution.
class PrimitiveKernel final : public Kernel {
 public:
  /// `packed`: operands that became kPacked arguments.
  PrimitiveKernel(std::vector<Call> calls, std::vector<std::size_t> packed,
                  std::size_t scratch_bytes);

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  bool packs(std::size_t operand) const override;
  std::size_t packed_bytes() const override;
  std::unique_ptr<KernelState> make_state() const override;
  void run(const Buffers&) const override;

 private:
  std::vector<Call> calls_;
  std::vector<std::size_t> packed_;
  std::size_t scratch_bytes_;
};

}  // namespace tare::onednn
