// Quantize and Dequantize of the canonical integer graph, and their simulated forms, which keep
// storage values in float32. Parameters come from the types.
#include "execute/kernel.h"
#include "execute/rounding.h"
#include "graph/storage_type.h"

namespace tare {
namespace {

/// Parameters ready for inner loops.
struct Conversion {
  Shape shape;  ///< in memory order
  std::optional<std::size_t> axis;
  std::vector<float> scale;
  std::vector<float> zero;
  float low;
  float high;
};

Conversion conversion(const Operand& operand, const QuantParams& params) {
  Conversion result;
  result.shape = operand.physical_shape();
  if (params.axis) {
    result.axis = operand.physical_axis(static_cast<std::size_t>(*params.axis));
  }
  result.scale = params.scale;
  result.zero.assign(params.zero_point.begin(), params.zero_point.end());
  result.low = static_cast<float>(params.range().low);
  result.high = static_cast<float>(params.range().high);
  return result;
}

/// Out is an 8- or 16-bit integer, or float for simulation.
template <class Out>
std::unique_ptr<Kernel> quantizer(Conversion c) {
  return make_kernel([c = std::move(c)](const Buffers& buffers) {
    map_channels(c.shape, c.axis, reinterpret_cast<const float*>(buffers.inputs[0]),
                 reinterpret_cast<Out*>(buffers.outputs[0]), [&](float x, std::size_t channel) {
                   return static_cast<Out>(
                       storage_value(x / c.scale[channel], c.zero[channel], c.low, c.high));
                 });
  });
}

template <class In>
std::unique_ptr<Kernel> dequantizer(Conversion c) {
  return make_kernel([c = std::move(c)](const Buffers& buffers) {
    map_channels(c.shape, c.axis, reinterpret_cast<const In*>(buffers.inputs[0]),
                 reinterpret_cast<float*>(buffers.outputs[0]), [&](In q, std::size_t channel) {
                   return (static_cast<float>(q) - c.zero[channel]) * c.scale[channel];
                 });
  });
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const std::string& op = request.node->op;
  const Operand& input = request.inputs[0];
  const Operand& output = request.outputs[0];
  const QuantParams* from = input.type->quant ? &*input.type->quant : nullptr;
  const QuantParams* to = output.type->quant ? &*output.type->quant : nullptr;
  if (op == "SimulatedQuantize" && to != nullptr) {
    return quantizer<float>(conversion(output, *to));
  }
  if (op == "SimulatedDequantize" && from != nullptr) {
    return dequantizer<float>(conversion(input, *from));
  }
  if (op == "Quantize" && to != nullptr && to->storage != DType::kInt32) {
    return with_storage(to->storage, [&](auto out) {
      return quantizer<decltype(out)>(conversion(output, *to));
    });
  }
  if (op == "Dequantize" && from != nullptr) {
    return with_storage(from->storage, [&](auto in) {
      return dequantizer<decltype(in)>(conversion(input, *from));
    });
  }
  return nullptr;
}

}  // namespace
}  // namespace tare

TARE_KERNEL(convert_storage) {
  using namespace tare;
  return {.ops = {"Quantize", "Dequantize", "SimulatedQuantize", "SimulatedDequantize"},
          .layout = [](const KernelRequest&) { return LayoutRule::kFollow; },
          .make = make,
          .for_storage = true};
}
