// Quantize and Dequantize of the canonical integer graph, and their simulated forms, which keep
// storage values in float32. Parameters come from the types.
#include "execute/elements/rounding.h"
#include "execute/kernel.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/storage_type.h"

#include <algorithm>
#include <cmath>

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
  result.scale.assign(params.scale.begin(), params.scale.end());
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
                 reinterpret_cast<Out*>(buffers.outputs[0]), [&](std::size_t channel) {
                   return [scale = c.scale[channel], zero = c.zero[channel], low = c.low,
                           high = c.high](float x) {
                     return narrowed<Out>(storage_value(x / scale, zero, low, high));
                   };
                 });
  });
}

/// Halves away from zero; TensorFlow Lite's kernels divide in float32 or in double.
template <class Out, class Real>
std::unique_ptr<Kernel> rounding_away(Conversion c) {
  return make_kernel([c = std::move(c)](const Buffers& buffers) {
    map_channels(c.shape, c.axis, reinterpret_cast<const float*>(buffers.inputs[0]),
                 reinterpret_cast<Out*>(buffers.outputs[0]), [&](std::size_t channel) {
                   return [scale = Real{c.scale[channel]}, zero = Real{c.zero[channel]},
                           low = Real{c.low}, high = Real{c.high}](float x) {
                     const Real q = std::round(Real{x} / scale) + zero;
                     return static_cast<Out>(x != x ? zero : std::clamp(q, low, high));
                   };
                 });
  });
}

/// XNNPACK multiplies by the reciprocal.
template <class Out>
std::unique_ptr<Kernel> by_reciprocal(Conversion c) {
  for (float& scale : c.scale) {
    scale = 1 / scale;
  }
  return make_kernel([c = std::move(c)](const Buffers& buffers) {
    map_channels(c.shape, c.axis, reinterpret_cast<const float*>(buffers.inputs[0]),
                 reinterpret_cast<Out*>(buffers.outputs[0]), [&](std::size_t channel) {
                   return [factor = c.scale[channel], zero = c.zero[channel], low = c.low,
                           high = c.high](float x) {
                     return narrowed<Out>(storage_value(x * factor, zero, low, high));
                   };
                 });
  });
}

template <class Out>
std::unique_ptr<Kernel> quantizer(Conversion c, Numerics numerics) {
  switch (numerics) {
    case Numerics::kTfliteRef:
      return rounding_away<Out, float>(std::move(c));
    case Numerics::kTfliteBuiltin:
      return rounding_away<Out, double>(std::move(c));
    case Numerics::kTfliteXnn:  // which takes bytes only
      return sizeof(Out) == 1 ? by_reciprocal<Out>(std::move(c))
                              : rounding_away<Out, double>(std::move(c));
    default:
      return quantizer<Out>(std::move(c));
  }
}

template <class In>
std::unique_ptr<Kernel> dequantizer(Conversion c) {
  return make_kernel([c = std::move(c)](const Buffers& buffers) {
    map_channels(c.shape, c.axis, reinterpret_cast<const In*>(buffers.inputs[0]),
                 reinterpret_cast<float*>(buffers.outputs[0]), [&](std::size_t channel) {
                   return [scale = c.scale[channel], zero = c.zero[channel]](In q) {
                     return (static_cast<float>(q) - zero) * scale;
                   };
                 });
  });
}

std::unique_ptr<Kernel> make_convert_storage(const KernelRequest& request) {
  const std::string& op = request.node->op;
  const Operand& input = request.inputs[0];
  const Operand& output = request.outputs[0];
  const QuantParams* from = input.type->quant ? &*input.type->quant : nullptr;
  const QuantParams* to = output.type->quant ? &*output.type->quant : nullptr;
  if ((from != nullptr && from->block != 0) || (to != nullptr && to->block != 0)) {
    return nullptr;  // constants, which need no kernel
  }
  if (op == "SimulatedQuantize" && to != nullptr) {
    return quantizer<float>(conversion(output, *to));
  }
  if (op == "SimulatedDequantize" && from != nullptr) {
    return dequantizer<float>(conversion(input, *from));
  }
  if (op == "Quantize" && to != nullptr && !is_sum_type(to->storage)) {
    return with_storage(to->storage, [&](auto out) {
      return quantizer<decltype(out)>(conversion(output, *to), numerics(request.attributes()));
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
          .make = make_convert_storage,
          .for_storage = true,
          .numerics = {Numerics::kOnnxRuntime, Numerics::kTfliteRef, Numerics::kTfliteBuiltin,
                       Numerics::kTfliteXnn}};
}
