// Errors of a stream of tensors from the sums of x^2, x d and d^2, with d = y - x, and the
// largest |d|. SQNR, cosine, mean squared error and relative error all follow from these. Sums
// of d rather than of y keep small errors of large values, which a difference of sums would
// lose. Within a tensor sums are in a fixed order, across tensors exact (ExactSum), so the
// result depends neither on threads nor on how samples were grouped.
//
// Cost: one pass over both tensors, in blocks that stay in cache, and another one over a tensor
// that holds a larger error than any before it. Memory: 192 bytes of sums and one element.
#include "compare/deviation.h"

#include "graph/arithmetic/storage_type.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tare {
namespace {

constexpr std::size_t kLanes = 32;
/// Values that are expressed at a time: 8 KiB, which stay in the first-level cache.
constexpr std::size_t kBlock = 2048;

double difference(float x, float y) {
  return static_cast<double>(y) - static_cast<double>(x);
}

/// Storage values [first, first + count) as real ones, as Dequantize computes them.
template <class T>
void express(std::span<const T> storage, const QuantParams& params, float* result) {
  const float scale = params.scale[0];
  const std::int32_t zero = params.zero_point[0];
  for (std::size_t i = 0; i < storage.size(); ++i) {
    result[i] = static_cast<float>(static_cast<std::int32_t>(storage[i]) - zero) * scale;
  }
}

/// Reads the expressed values of a tensor block by block.
class Expressed {
 public:
  explicit Expressed(const TensorView& view) : view_(view) {}

  std::span<const float> block(std::size_t first, std::size_t count) {
    const auto& params = view_.type->quant;
    if (!params) {
      return view_.elements<float>().subspan(first, count);
    }
    with_storage(view_.type->dtype, [&](auto storage) {
      express(view_.elements<decltype(storage)>().subspan(first, count), *params,
              buffer_.data());
    });
    return std::span<const float>(buffer_).first(count);
  }

 private:
  const TensorView& view_;
  std::array<float, kBlock> buffer_{};
};

/// Indices of the element at `position` in memory.
Shape index_of(std::size_t position, const TensorView& view) {
  const Shape& shape = view.type->shape;
  Shape index(shape.size());
  auto rest = static_cast<std::int64_t>(position);
  const auto take = [&](std::size_t axis) {
    index[axis] = rest % shape[axis];
    rest /= shape[axis];
  };
  if (view.channels_last) {
    take(1);
  }
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (!view.channels_last || axis != 1) {
      take(axis);
    }
  }
  return index;
}

/// The element with that error whose index comes first, of the blocks that begin there.
LargestError find(double error, std::span<const std::size_t> blocks, const TensorView& real,
                  Expressed& expressed) {
  std::optional<LargestError> found;
  const auto x = real.elements<float>();
  for (const std::size_t first : blocks) {
    const auto y = expressed.block(first, std::min(kBlock, x.size() - first));
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (std::abs(difference(x[first + i], y[i])) == error) {
        const Shape index = index_of(first + i, real);
        if (!found || index < found->index) {
          found = LargestError{.value = error,
                               .sample = 0,
                               .index = index,
                               .real = static_cast<double>(x[first + i]),
                               .quantized = static_cast<double>(y[i])};
        }
      }
    }
  }
  return found.value_or(LargestError{});
}

}  // namespace

void ErrorSums::add(const ErrorSums& other) {
  xx += other.xx;
  xd += other.xd;
  dd += other.dd;
  peak = std::max(peak, other.peak);
}

ErrorSums error_sums(std::span<const float> x, std::span<const float> y) {
  // Independent sums make this vector code: they may not be reordered by the compiler.
  std::array<double, kLanes> xx{};
  std::array<double, kLanes> xd{};
  std::array<double, kLanes> dd{};
  std::array<double, kLanes> peak{};
  const auto take = [&](std::size_t lane, float a, float b) {
    const double d = difference(a, b);
    xx[lane] += static_cast<double>(a) * static_cast<double>(a);
    xd[lane] += static_cast<double>(a) * d;
    dd[lane] += d * d;
    peak[lane] = std::abs(d) > peak[lane] ? std::abs(d) : peak[lane];
  };
  std::size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      take(lane, x[i + lane], y[i + lane]);
    }
  }
  for (std::size_t lane = 0; i < x.size(); ++lane, ++i) {
    take(lane, x[i], y[i]);
  }
  ErrorSums result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result.add({xx[lane], xd[lane], dd[lane], peak[lane]});
  }
  return result;
}

void DeviationSums::observe(const TensorView& real, const TensorView& quantized,
                            std::size_t first_sample, std::size_t batch) {
  const auto& params = quantized.type->quant;
  const bool other_layout = real.channels_last != quantized.channels_last;
  if (other_layout || (params && params->per_axis())) {
    const Tensor x = real.tensor();
    const Tensor stored = quantized.tensor();
    const Tensor y = params ? dequantize(stored, *params) : stored;
    const TensorType type{
        .dtype = DType::kFloat32, .shape = y.shape(), .quant = {}, .point = {}};
    observe({&type, x.data()}, {&type, y.data()}, first_sample, batch);
    return;
  }
  Expressed expressed(quantized);
  const auto x = real.elements<float>();
  ErrorSums sums;
  std::vector<std::size_t> blocks;  // with the largest error
  for (std::size_t first = 0; first < x.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, x.size() - first);
    const ErrorSums own = error_sums(x.subspan(first, count), expressed.block(first, count));
    if (own.peak > sums.peak) {
      blocks.clear();
    }
    if (own.peak >= sums.peak) {
      blocks.push_back(first);
    }
    sums.add(own);
  }
  add(sums, x.size());
  if (sums.peak > (largest_ ? largest_->value : 0)) {
    LargestError largest = find(sums.peak, blocks, real, expressed);
    const Shape& shape = real.type->shape;
    const bool has_samples = !shape.empty() && static_cast<std::size_t>(shape[0]) == batch;
    largest.sample =
        first_sample + (has_samples ? static_cast<std::size_t>(largest.index[0]) : 0);
    offer(largest);
  }
}

void DeviationSums::add(const ErrorSums& sums, std::size_t count) {
  count_ += count;
  if (!std::isfinite(sums.xx + sums.xd + sums.dd)) {
    is_finite_ = false;
    return;
  }
  xx_.add(sums.xx);
  xd_.add(sums.xd);
  dd_.add(sums.dd);
}

void DeviationSums::offer(const LargestError& other) {
  if (!largest_ || other.value > largest_->value ||
      (other.value == largest_->value && other.sample < largest_->sample)) {
    largest_ = other;
  }
}

void DeviationSums::merge(const DeviationSums& other) {
  count_ += other.count_;
  is_finite_ = is_finite_ && other.is_finite_;
  xx_.add(other.xx_);
  xd_.add(other.xd_);
  dd_.add(other.dd_);
  if (other.largest_) {
    offer(*other.largest_);
  }
}

void DeviationSums::write(ByteWriter& writer) const {
  writer.add(count_);
  writer.add(std::uint64_t{is_finite_});
  for (const ExactSum* sum : {&xx_, &xd_, &dd_}) {
    writer.add(sum->words());
  }
  writer.add(std::uint64_t{largest_.has_value()});
  if (largest_) {
    writer.add(largest_->value);
    writer.add(std::uint64_t{largest_->sample});
    writer.add_all(std::span<const std::int64_t>(largest_->index));
    writer.add(largest_->real);
    writer.add(largest_->quantized);
  }
}

DeviationSums DeviationSums::read(ByteReader& reader) {
  DeviationSums result;
  result.count_ = reader.get<std::uint64_t>();
  result.is_finite_ = reader.get<std::uint64_t>() != 0;
  for (ExactSum* sum : {&result.xx_, &result.xd_, &result.dd_}) {
    *sum = ExactSum::of(reader.get<ExactSum::Words>());
  }
  if (reader.get<std::uint64_t>() != 0) {
    LargestError& largest = result.largest_.emplace();
    largest.value = reader.get<double>();
    largest.sample = reader.get<std::uint64_t>();
    largest.index = reader.get_all<std::int64_t>();
    largest.real = reader.get<double>();
    largest.quantized = reader.get<double>();
  }
  return result;
}

Deviation DeviationSums::deviation() const {
  Deviation result;
  if (!is_finite_ || count_ == 0) {
    return result;
  }
  const double xx = xx_.value();
  const double xd = xd_.value();
  const double dd = dd_.value();
  const double xy = xx + xd;  // of x and y = x + d
  const double yy = xy + xd + dd;
  result.exact = dd == 0;
  result.mse = dd / static_cast<double>(count_);
  result.largest = largest_;
  if (xx > 0) {
    result.relative_l2 = std::sqrt(dd / xx);
    if (dd > 0) {
      result.sqnr = 10 * std::log10(xx / dd);
    }
    if (yy > 0) {
      result.cosine = std::clamp(xy / std::sqrt(xx) / std::sqrt(yy), -1.0, 1.0);
    }
  }
  return result;
}

}  // namespace tare
