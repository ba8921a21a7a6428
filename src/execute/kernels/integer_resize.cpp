// Resize of storage values by weighing four neighbours, as TensorFlow Lite's reference kernels
// do it: int8 in integers of 10 bits, uint8 in float32.
#include "execute/elements/dispatch.h"
#include "execute/operands.h"
#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tare {
namespace {

/// Where one result lies between two elements of an axis.
template <class Weight>
struct Between {
  std::int64_t first = 0;
  std::int64_t second = 0;
  Weight of_second = 0;
};

struct ResizedAxis {
  std::int64_t input;
  std::int64_t output;
  bool aligns_corners;
  bool has_half_pixels;

  bool stretches() const { return aligns_corners && output > 1; }
};

constexpr std::int64_t kOne = 1 << 10;

/// a / kOne, rounded toward zero.
std::int64_t whole(std::int64_t a) {
  return a / kOne;
}

std::vector<Between<std::int64_t>> in_integers(const ResizedAxis& axis) {
  const std::int64_t steps = axis.stretches() ? axis.output - 1 : axis.output;
  const std::int64_t from = axis.stretches() ? axis.input - 1 : axis.input;
  const std::int64_t scale = (kOne * from + steps / 2) / steps;
  std::vector<Between<std::int64_t>> places;
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const std::int64_t at = i * scale + (axis.has_half_pixels ? scale / 2 - kOne / 2 : 0);
    const std::int64_t first = std::max<std::int64_t>(whole(at), 0);
    places.push_back(
        {first, std::min(whole(at + kOne - 1), axis.input - 1), at - first * kOne});
  }
  return places;
}

std::vector<Between<float>> in_float(const ResizedAxis& axis) {
  const auto from = static_cast<float>(axis.stretches() ? axis.input - 1 : axis.input);
  const auto steps = static_cast<float>(axis.stretches() ? axis.output - 1 : axis.output);
  const float scale = from / steps;
  std::vector<Between<float>> places;
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const auto index = static_cast<float>(i);
    const float at = axis.has_half_pixels ? (index + 0.5F) * scale - 0.5F : index * scale;
    const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(at)), 0);
    places.push_back({first, std::min(static_cast<std::int64_t>(std::ceil(at)), axis.input - 1),
                      at - static_cast<float>(first)});
  }
  return places;
}

std::int8_t weighed_in_integers(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d,
                                std::int64_t y, std::int64_t x) {
  const std::int64_t sum =
      a * (kOne - y) * (kOne - x) + b * y * (kOne - x) + c * (kOne - y) * x + d * y * x;
  constexpr std::int64_t kUnit = kOne * kOne;
  return static_cast<std::int8_t>((sum + (sum > 0 ? kUnit / 2 : -kUnit / 2)) / kUnit);
}

std::uint8_t weighed_by_rows(float a, float b, float c, float d, float y, float x) {
  const float sum = a * (1 - y) * (1 - x) + b * y * (1 - x) + c * (1 - y) * x + d * y * x;
  return static_cast<std::uint8_t>(sum + 0.5F);
}

/// The optimized kernel multiplies the weights first.
std::uint8_t weighed_by_products(float a, float b, float c, float d, float y, float x) {
  const float sum =
      a * ((1 - y) * (1 - x)) + c * ((1 - y) * x) + b * (y * (1 - x)) + d * (y * x);
  return static_cast<std::uint8_t>(sum + 0.5F);
}

/// `weigh` is given the values at (first row, first column), (second, first), (first, second),
/// (second, second), and the weights of the second row and column.
template <class Q, class Weight>
std::unique_ptr<Kernel> make_for(const KernelRequest& request,
                                 std::vector<Between<Weight>> (*places)(const ResizedAxis&),
                                 Q (*weigh)(Weight, Weight, Weight, Weight, Weight, Weight)) {
  const Shape x = request.inputs[0].shape();
  const Shape y = request.outputs[0].shape();
  const std::string coordinates =
      request.attributes().text("coordinate_transformation_mode", "half_pixel");
  const auto axis = [&](std::size_t i) {
    return ResizedAxis{x[i], y[i], coordinates == "align_corners", coordinates == "half_pixel"};
  };
  return make_kernel([=, rows = places(axis(2)), columns = places(axis(3))](const Buffers& b) {
    const Q* from = input<Q>(b, 0);
    Q* to = output<Q>(b, 0);
    const std::int64_t channels = x[1];
    for (std::int64_t n = 0; n < x[0]; ++n, from += x[2] * x[3] * channels) {
      for (const auto& row : rows) {
        for (const auto& column : columns) {
          const Q* a = from + (row.first * x[3] + column.first) * channels;
          const Q* below = from + (row.second * x[3] + column.first) * channels;
          const Q* beside = from + (row.first * x[3] + column.second) * channels;
          const Q* across = from + (row.second * x[3] + column.second) * channels;
          for (std::int64_t c = 0; c < channels; ++c) {
            *to++ = weigh(static_cast<Weight>(a[c]), static_cast<Weight>(below[c]),
                          static_cast<Weight>(beside[c]), static_cast<Weight>(across[c]),
                          row.of_second, column.of_second);
          }
        }
      }
    }
  });
}

std::unique_ptr<Kernel> make_integer_resize(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  const Attributes& attributes = request.attributes();
  const std::string coordinates =
      attributes.text("coordinate_transformation_mode", "half_pixel");
  const Shape& from = x.shape();
  const Shape& to = y.shape();
  const bool two_axes = from.size() == 4 && to.size() == 4 && from[0] == to[0] &&
                        from[1] == to[1] && element_count(from) > 0 && element_count(to) > 0;
  if (!two_axes || attributes.text("mode", "nearest") != "linear" || !x.type->quant ||
      x.type->quant != y.type->quant || x.type->quant->per_axis() ||
      (coordinates != "align_corners" && coordinates != "half_pixel" &&
       coordinates != "asymmetric")) {
    return nullptr;
  }
  if (x.dtype() == DType::kInt8) {
    return make_for<std::int8_t, std::int64_t>(request, in_integers, weighed_in_integers);
  }
  const bool optimized = numerics(attributes) == Numerics::kTfliteBuiltin;
  return x.dtype() == DType::kUint8
             ? make_for<std::uint8_t, float>(request, in_float,
                                             optimized ? weighed_by_products : weighed_by_rows)
             : nullptr;
}

}  // namespace
}  // namespace tare

TARE_KERNEL(integer_resize) {
  using namespace tare;
  return {.ops = {"Resize"},
          .layout = [](const KernelRequest&) { return LayoutRule::kChannelsLast; },
          .make = make_integer_resize,
          .for_storage = true,
          .numerics = {Numerics::kTfliteRef, Numerics::kTfliteBuiltin}};
}
