// The two gradients of float convolutions by oneDNN. Weights and their gradients are reordered
// in each run, as they change from run to run while something is learned.
#include "execute/products/convolution_gradients.h"

#include "execute/products/onednn.h"

namespace tare::onednn {
namespace {

using dnnl::memory;
using From = Argument::From;
constexpr auto kReal = memory::data_type::f32;

memory::desc activations(const memory::dims& extents) {
  return {extents, kReal, channels_last(extents.size())};
}

/// Weights as the operand holds them, and however an implementation wants them.
memory::desc plain_weights(const Convolution& spec) {
  return {spec.weights, kReal, spec.weight_strides};
}
memory::desc any_weights(const Convolution& spec) {
  return {spec.weights, kReal, memory::format_tag::any};
}

memory::dims gaps(const Convolution& spec) {
  memory::dims result = spec.dilations;
  for (auto& dilation : result) {
    --dilation;  // oneDNN counts the gaps
  }
  return result;
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

/// oneDNN chooses gradients beside a forward convolution.
dnnl::convolution_forward::primitive_desc forward(const Convolution& spec) {
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
           activations(spec.source), any_weights(spec), activations(spec.result), spec.strides,
           gaps(spec), spec.pads_begin, spec.pads_end},
          engine()};
}

/// Offsets into scratch memory, each aligned for vectors.
class Scratch {
 public:
  std::size_t reserve(std::size_t size) {
    constexpr std::size_t kVectorBytes = 64;
    const std::size_t offset = (size_ + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
    size_ = offset + size;
    return offset;
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

Call reorder(const Argument& from, const Argument& to) {
  Call call{dnnl::reorder({engine(), from.desc, engine(), to.desc}), {from, to}};
  call.arguments[0].id = DNNL_ARG_FROM;
  call.arguments[1].id = DNNL_ARG_TO;
  return call;
}

template <class Primitive>
typename Primitive::primitive_desc described(const Convolution& spec) {
  return {{dnnl::algorithm::convolution_direct, activations(spec.source), any_weights(spec),
           activations(spec.result), spec.strides, gaps(spec), spec.pads_begin, spec.pads_end},
          user_scratchpad(),
          engine(),
          forward(spec)};
}

template <class Make>
std::unique_ptr<Kernel> unless_unimplemented(Make make) try {
  return make();
} catch (const dnnl::error& error) {
  if (error.status == dnnl_unimplemented) {
    return nullptr;
  }
  throw;
}

}  // namespace

std::unique_ptr<Kernel> make_source_gradient(const Convolution& spec) {
  return unless_unimplemented([&]() -> std::unique_ptr<Kernel> {
    using Primitive = dnnl::convolution_backward_data;
    const auto desc = described<Primitive>(spec);
    Scratch scratch;
    std::vector<Call> calls;
    Argument weights{DNNL_ARG_WEIGHTS, plain_weights(spec), From::kInput, 1};
    if (desc.weights_desc() != weights.desc) {
      const Argument wanted{DNNL_ARG_WEIGHTS, desc.weights_desc(), From::kScratch,
                            scratch.reserve(desc.weights_desc().get_size())};
      calls.push_back(reorder(weights, wanted));
      weights = wanted;
    }
    calls.push_back({Primitive(desc),
                     {{DNNL_ARG_DIFF_DST, desc.diff_dst_desc(), From::kInput, 0},
                      weights,
                      {DNNL_ARG_DIFF_SRC, desc.diff_src_desc(), From::kOutput, 0},
                      {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc(), From::kScratch,
                       scratch.reserve(desc.scratchpad_desc().get_size())}}});
    return std::make_unique<PrimitiveKernel>(std::move(calls), std::vector<std::size_t>(),
                                             scratch.size());
  });
}

std::unique_ptr<Kernel> make_weight_gradient(const Convolution& spec) {
  return unless_unimplemented([&]() -> std::unique_ptr<Kernel> {
    using Primitive = dnnl::convolution_backward_weights;
    const auto desc = described<Primitive>(spec);
    Scratch scratch;
    std::vector<Call> calls;
    const Argument plain{DNNL_ARG_DIFF_WEIGHTS, plain_weights(spec), From::kOutput, 0};
    Argument computed = plain;
    if (desc.diff_weights_desc() != plain.desc) {
      computed = {DNNL_ARG_DIFF_WEIGHTS, desc.diff_weights_desc(), From::kScratch,
                  scratch.reserve(desc.diff_weights_desc().get_size())};
    }
    calls.push_back({Primitive(desc),
                     {{DNNL_ARG_SRC, desc.src_desc(), From::kInput, 0},
                      {DNNL_ARG_DIFF_DST, desc.diff_dst_desc(), From::kInput, 1},
                      computed,
                      {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc(), From::kScratch,
                       scratch.reserve(desc.scratchpad_desc().get_size())}}});
    if (computed.desc != plain.desc) {
      calls.push_back(reorder(computed, plain));
    }
    return std::make_unique<PrimitiveKernel>(std::move(calls), std::vector<std::size_t>(),
                                             scratch.size());
  });
}

}  // namespace tare::onednn
