// GridSample of ONNX: reads an image at the points of a grid, whose coordinates go from -1 to 1
// over the image. A result costs 1, 4 or 16 reads.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tare {
namespace {

enum class Mode { kNearest, kBilinear, kBicubic };
enum class Padding { kZeros, kBorder, kReflection };

/// One axis of the image.
struct Axis {
  std::int64_t extent = 0;
  bool align_corners = false;

  /// Where the image ends, in pixels: at centres of pixels or at their edges.
  double low() const { return align_corners ? 0 : -0.5; }
  double high() const { return static_cast<double>(extent) - (align_corners ? 1 : 0.5); }
  double pixels(double x) const {
    const auto all = static_cast<double>(extent);
    return align_corners ? (x + 1) / 2 * (all - 1) : ((x + 1) * all - 1) / 2;
  }
  /// The point inside that mirrors at the ends lead to.
  double reflected(double x) const {
    const double length = high() - low();
    if (length <= 0) {
      return 0;
    }
    const double away = std::fmod(std::fabs(x - low()), 2 * length);
    return low() + (away > length ? 2 * length - away : away);
  }
};

struct Sampler {
  Mode mode = Mode::kBilinear;
  Padding padding = Padding::kZeros;
  Axis rows;
  Axis columns;
  std::size_t batch = 0;
  std::size_t channels = 0;
  std::size_t points = 0;  ///< of the grid, for each image

  void run(const float* images, const float* grid, float* y) const;

 private:
  /// Pixels along one axis that a point reads, and their shares.
  struct Taps {
    std::size_t count = 0;
    std::array<std::int64_t, 4> index{};  ///< -1: a zero
    std::array<float, 4> share{};
  };
  Taps taps(double x, const Axis&) const;
  std::int64_t padded(std::int64_t index, const Axis&) const;
};

std::int64_t Sampler::padded(std::int64_t index, const Axis& axis) const {
  if (index >= 0 && index < axis.extent) {
    return index;
  }
  switch (padding) {
    case Padding::kZeros:
      return -1;
    case Padding::kBorder:
      return std::clamp<std::int64_t>(index, 0, axis.extent - 1);
    case Padding::kReflection:
      return std::clamp<std::int64_t>(
          static_cast<std::int64_t>(axis.reflected(static_cast<double>(index))), 0,
          axis.extent - 1);
  }
  return -1;
}

Sampler::Taps Sampler::taps(double coordinate, const Axis& axis) const {
  double x = axis.pixels(coordinate);
  if (mode == Mode::kNearest) {
    x = std::nearbyint(x);
  }
  if (x < axis.low() || x > axis.high()) {
    x = padding == Padding::kBorder ? std::clamp(x, 0.0, static_cast<double>(axis.extent - 1))
        : padding == Padding::kReflection ? axis.reflected(x)
                                          : x;
  }
  // What is so far outside reads zeros; NaN does, too.
  constexpr double kFar = 1e9;
  if (!(std::fabs(x) < kFar)) {
    return {};
  }
  const double floor = std::floor(x);
  const auto first = static_cast<std::int64_t>(floor);
  const auto part = static_cast<float>(x - floor);
  Taps result;
  if (mode == Mode::kNearest) {
    result = {1, {first}, {1}};
  } else if (mode == Mode::kBilinear) {
    result = {2, {first, first + 1}, {1 - part, part}};
  } else {
    // Keys, "Cubic convolution interpolation for digital image processing", 1981, with -0.75.
    constexpr float kA = -0.75F;
    const auto near = [](float d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
    const auto far = [](float d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
    result = {4,
              {first - 1, first, first + 1, first + 2},
              {far(1 + part), near(part), near(1 - part), far(2 - part)}};
  }
  for (std::size_t i = 0; i < result.count; ++i) {
    result.index.at(i) = padded(result.index.at(i), axis);
  }
  return result;
}

void Sampler::run(const float* images, const float* grid, float* y) const {
  const auto size = static_cast<std::size_t>(rows.extent * columns.extent);
  for (std::size_t n = 0; n < batch; ++n, images += channels * size, y += channels * points) {
    for (std::size_t p = 0; p < points; ++p, grid += 2) {
      const Taps across = taps(static_cast<double>(grid[0]), columns);
      const Taps down = taps(static_cast<double>(grid[1]), rows);
      for (std::size_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (std::size_t i = 0; i < down.count; ++i) {
          for (std::size_t k = 0; k < across.count; ++k) {
            if (down.index.at(i) >= 0 && across.index.at(k) >= 0) {
              const std::int64_t at = down.index.at(i) * columns.extent + across.index.at(k);
              sum += down.share.at(i) * across.share.at(k) *
                     images[c * size + static_cast<std::size_t>(at)];
            }
          }
        }
        y[c * points + p] = sum;
      }
    }
  }
}

template <class Value>
Value named(const Attributes& attributes, const char* attribute, const char* fallback,
            std::initializer_list<std::pair<std::string_view, Value>> values) {
  const std::string name = attributes.text(attribute, fallback);
  for (const auto& [known, value] : values) {
    if (known == name) {
      return value;
    }
  }
  throw Error(ErrorCode::kInvalidModel, "", std::string(attribute) + " is '" + name + "'");
}

std::unique_ptr<Kernel> make_grid_sample(const KernelRequest& request) {
  const Shape& x = required(request, 0).shape();
  const Shape& grid = required(request, 1).shape();
  const Attributes& attributes = request.attributes();
  const auto mode = named<Mode>(attributes, "mode", "bilinear",
                                {{"nearest", Mode::kNearest},
                                 {"bilinear", Mode::kBilinear},
                                 {"bicubic", Mode::kBicubic}});
  const auto padding = named<Padding>(attributes, "padding_mode", "zeros",
                                      {{"zeros", Padding::kZeros},
                                       {"border", Padding::kBorder},
                                       {"reflection", Padding::kReflection}});
  if (!all_f32(request) || x.size() != 4 || grid.size() != 4) {
    return nullptr;
  }
  if (x[2] < 1 || x[3] < 1) {
    throw Error(ErrorCode::kInvalidModel, "", "the image is " + to_string(x));
  }
  expect_shape(required(request, 1), {x[0], grid[1], grid[2], 2});
  expect_shape(request.outputs[0], {x[0], x[1], grid[1], grid[2]});
  const bool align = attributes.integer("align_corners", 0) != 0;
  const Sampler sampler{.mode = mode,
                        .padding = padding,
                        .rows = {x[2], align},
                        .columns = {x[3], align},
                        .batch = static_cast<std::size_t>(x[0]),
                        .channels = static_cast<std::size_t>(x[1]),
                        .points = static_cast<std::size_t>(grid[1] * grid[2])};
  return make_kernel([sampler](const Buffers& b) {
    sampler.run(input<float>(b, 0), input<float>(b, 1), output<float>(b, 0));
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(grid_sample) {
  return {.ops = {"GridSample"}, .make = tare::make_grid_sample};
}
