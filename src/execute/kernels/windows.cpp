// What ONNX has around Fourier transforms: windows, which are sums of cosines (HannWindow,
// HammingWindow and BlackmanWindow), and MelWeightMatrix, triangles that are evenly spread on
// the mel scale, one a column.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/elements/wider_types.h"
#include "execute/operands.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace tare {
namespace {

/// first - second * cos(2 pi i / n) + third * cos(4 pi i / n)
struct Window {
  const char* op;
  double first;
  double second;
  double third;
};

constexpr std::array kWindows{Window{"HannWindow", 0.5, 0.5, 0},
                              Window{"HammingWindow", 25.0 / 46, 21.0 / 46, 0},
                              Window{"BlackmanWindow", 0.42, 0.5, 0.08}};

std::unique_ptr<Kernel> make_windows(const KernelRequest& request) {
  const auto* const window =
      std::find_if(kWindows.begin(), kWindows.end(),
                   [&](const Window& each) { return each.op == request.node->op; });
  const Operand& y = request.outputs[0];
  expect_count(required(request, 0), 1);
  expect_shape(y, {request.integers(0)[0]});
  const std::size_t count = count_of(y);
  const bool is_periodic = request.attributes().integer("periodic", 1) != 0;
  // A symmetric window of one element has no period; it gets the first element of any.
  const double period =
      static_cast<double>(is_periodic ? count : std::max<std::size_t>(count, 2) - 1);
  return dispatch(WideNumbers{}, y.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=, shape = *window](const Buffers& buffers) {
      for (std::size_t i = 0; i < count; ++i) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
        output<T>(buffers, 0)[i] = convert<T>(shape.first - shape.second * std::cos(angle) +
                                              shape.third * std::cos(2 * angle));
      }
    });
  });
}

struct MelScale {
  std::int64_t bands = 0;
  std::int64_t frame = 0;  ///< samples of a Fourier transform
  std::int64_t rate = 0;   ///< samples a second
  double low = 0;          ///< Hz
  double high = 0;
};

/// Bins of the spectrum at which the triangles begin, peak and end: bands + 2 of them.
std::vector<std::int64_t> edges(const MelScale& scale) {
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = to_mel(scale.low);
  const double step = (to_mel(scale.high) - low) / static_cast<double>(scale.bands + 2);
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < scale.bands + 2; ++i) {
    const double hertz =
        700 * (std::pow(10.0, (static_cast<double>(i) * step + low) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(scale.frame + 1) * hertz /
                                  static_cast<double>(scale.rate));
    const bool is_inside = bin >= 0 && bin <= static_cast<double>(scale.frame / 2 + 1);
    if (!is_inside) {
      throw Error(ErrorCode::kInvalidData, "",
                  "a mel band begins or ends outside of the spectrum");
    }
    result.push_back(static_cast<std::int64_t>(bin));
  }
  return result;
}

template <class T>
void fill_triangles(const MelScale& scale, T* to) {
  const std::int64_t bins = scale.frame / 2 + 1;
  std::fill_n(to, bins * scale.bands, T(0.0F));
  const std::vector<std::int64_t> edge = edges(scale);
  for (std::int64_t band = 0; band < scale.bands; ++band) {
    const auto at = static_cast<std::size_t>(band);
    const std::int64_t begin = edge[at];
    const std::int64_t peak = edge[at + 1];
    const std::int64_t end = edge[at + 2];
    const auto set = [&](std::int64_t bin, double weight) {
      if (bin < bins) {
        to[bin * scale.bands + band] = convert<T>(weight);
      }
    };
    for (std::int64_t bin = begin; bin < peak; ++bin) {
      set(bin, static_cast<double>(bin - begin) / static_cast<double>(peak - begin));
    }
    set(peak, 1);
    for (std::int64_t bin = peak + 1; bin < end; ++bin) {
      set(bin, static_cast<double>(end - bin) / static_cast<double>(end - peak));
    }
  }
}

template <class T>
double number_at(const Buffers& buffers, std::size_t i) {
  return static_cast<double>(*input<T>(buffers, i));
}

std::unique_ptr<Kernel> make_mel_weights(const KernelRequest& request) {
  constexpr std::size_t kIntegers = 3;
  constexpr std::size_t kOperands = 5;
  std::vector<double (*)(const Buffers&, std::size_t)> read;
  for (std::size_t i = 0; i < kOperands; ++i) {
    const Operand& operand = required(request, i);
    expect_count(operand, 1);
    const DType dtype = operand.dtype();
    read.push_back(dtype == DType::kInt32     ? number_at<std::int32_t>
                   : dtype == DType::kInt64   ? number_at<std::int64_t>
                   : dtype == DType::kFloat64 ? number_at<double>
                   : dtype == DType::kFloat32 ? number_at<float>
                                              : nullptr);
    const bool is_whole = dtype == DType::kInt32 || dtype == DType::kInt64;
    if (read.back() == nullptr || is_whole != (i < kIntegers)) {
      return nullptr;
    }
  }
  const Operand& y = request.outputs[0];
  if (y.shape().size() != 2) {
    throw Error(ErrorCode::kInvalidModel, "", "the result is " + to_string(y.shape()));
  }
  return dispatch(Floats{}, y.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=, shape = y.shape()](const Buffers& buffers) {
      const auto number = [&](std::size_t i) { return read[i](buffers, i); };
      const MelScale scale{static_cast<std::int64_t>(number(0)),
                           static_cast<std::int64_t>(number(1)),
                           static_cast<std::int64_t>(number(2)), number(3), number(4)};
      if (scale.rate <= 0 || shape != Shape{scale.frame / 2 + 1, scale.bands}) {
        throw Error(ErrorCode::kInvalidData, "", "operands are not those of the result's shape")
            .expected(to_string(shape));
      }
      fill_triangles(scale, output<T>(buffers, 0));
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(windows) {
  using namespace tare;
  KernelInfo info{.ops = {"MelWeightMatrix"}, .make = [](const KernelRequest& request) {
                    return request.node->op == "MelWeightMatrix"
                               ? make_mel_weights(request)
                               : make_wide(request, make_windows);
                  }};
  for (const Window& window : kWindows) {
    info.ops.emplace_back(window.op);
  }
  return info;
}
