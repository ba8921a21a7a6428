// Runs the primitives of a kernel. Memory objects of oneDNN are made once for each thread
// rather than in each run; from run to run only their addresses change.
#include "execute/products/onednn.h"

#include "base/shared_memory.h"
#include "execute/packing.h"

#include <algorithm>

namespace tare::onednn {
namespace {

/// The memory objects of one thread. Packed arguments are bound for good, the others move.
class PrimitiveState final : public KernelState {
 public:
  explicit PrimitiveState(const std::vector<Call>& calls) : stream_(engine()) {
    calls_.reserve(calls.size());
    for (const Call& call : calls) {
      Bound& bound = calls_.emplace_back();
      bound.primitive = call.primitive.get();
      for (const Argument& argument : call.arguments) {
        const bool moves = argument.from != Argument::From::kPacked;
        dnnl::memory memory(argument.desc, engine(),
                            moves ? DNNL_MEMORY_NONE : argument.packed.get());
        bound.arguments.push_back({argument.id, memory.get()});
        if (moves) {
          bound.moving.push_back({memory, argument.from, argument.index});
        } else {
          bound.packed.push_back(memory);
        }
      }
    }
  }

  void run(const Buffers& buffers) {
    for (const Bound& call : calls_) {
      for (const Moving& moving : call.moving) {
        dnnl::error::wrap_c_api(
            dnnl_memory_set_data_handle(moving.memory.get(), handle(moving, buffers)),
            "cannot bind memory");
      }
      dnnl::error::wrap_c_api(dnnl_primitive_execute(call.primitive, stream_.get(),
                                                     static_cast<int>(call.arguments.size()),
                                                     call.arguments.data()),
                              "cannot execute");
    }
  }

 private:
  struct Moving {
    dnnl::memory memory;
    Argument::From from;
    std::size_t index;
  };
  struct Bound {
    dnnl_primitive_t primitive = nullptr;
    std::vector<dnnl_exec_arg_t> arguments;
    std::vector<Moving> moving;
    std::vector<dnnl::memory> packed;
  };

  static void* handle(const Moving& moving, const Buffers& buffers) {
    switch (moving.from) {
      case Argument::From::kInput:
        return const_cast<std::byte*>(buffers.inputs[moving.index]);
      case Argument::From::kOutput:
        return buffers.outputs[moving.index];
      default:
        return buffers.scratch + moving.index;
    }
  }

  dnnl::stream stream_;
  std::vector<Bound> calls_;
};

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

bool may_use(dnnl::cpu_isa isa) {
  const auto allowed = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto bits = static_cast<unsigned>(isa);  // one for everything that it includes
  return (bits & allowed) == bits;
}

dnnl::memory::dims dense_strides(const dnnl::memory::dims& extents) {
  dnnl::memory::dims strides(extents.size(), 1);
  for (std::size_t i = extents.size() - 1; i > 0; --i) {
    strides[i - 1] = strides[i] * extents[i];
  }
  return strides;
}

dnnl::memory::format_tag channels_last(std::size_t rank) {
  using Tag = dnnl::memory::format_tag;
  constexpr Tag kTags[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  return kTags[rank - 3];
}

std::shared_ptr<std::byte[]> reordered(const Tensor& tensor, const dnnl::memory::desc& from,
                                       const dnnl::memory::desc& to, Packing* packing) {
  auto bytes = shared_memory(to.get_size());
  const auto reorder = [tensor, from, to, bytes] {
    dnnl::stream stream(engine());
    dnnl::memory source(from, engine(), const_cast<std::byte*>(tensor.data()));
    dnnl::memory result(to, engine(), bytes.get());
    dnnl::reorder(source, result).execute(stream, source, result);
    stream.wait();
  };
  if (packing == nullptr) {
    reorder();
  } else {
    packing->add(tensor.byte_size(), reorder);
  }
  return bytes;
}

PrimitiveKernel::PrimitiveKernel(std::vector<Call> calls, std::vector<std::size_t> packed,
                                 std::size_t scratch_bytes)
    : calls_(std::move(calls)), packed_(std::move(packed)), scratch_bytes_(scratch_bytes) {}

bool PrimitiveKernel::packs(std::size_t operand) const {
  return std::find(packed_.begin(), packed_.end(), operand) != packed_.end();
}

std::size_t PrimitiveKernel::packed_bytes() const {
  std::size_t bytes = 0;
  for (const Call& call : calls_) {
    for (const Argument& argument : call.arguments) {
      bytes += argument.from == Argument::From::kPacked ? argument.desc.get_size() : 0;
    }
  }
  return bytes;
}

std::unique_ptr<KernelState> PrimitiveKernel::make_state() const {
  return std::make_unique<PrimitiveState>(calls_);
}

void PrimitiveKernel::run(const Buffers& buffers) const {
  static_cast<PrimitiveState*>(buffers.state)->run(buffers);
}

}  // namespace tare::onednn
