#include "execute/elements/wider_types.h"

#include "execute/operands.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tare {
namespace {

constexpr std::size_t kAlignment = 64;

std::optional<DType> wider(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBfloat16:
      return DType::kFloat32;
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
      return DType::kInt64;
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
      return DType::kUint64;
    default:
      return std::nullopt;
  }
}

/// Calls f with tags of a narrow type and of the wider one.
template <class F>
void with_types(DType narrow, F&& f) {
  switch (narrow) {
    case DType::kFloat16:
      return f(Tag<Half>{}, Tag<float>{});
    case DType::kBfloat16:
      return f(Tag<Bfloat16>{}, Tag<float>{});
    case DType::kInt8:
      return f(Tag<std::int8_t>{}, Tag<std::int64_t>{});
    case DType::kInt16:
      return f(Tag<std::int16_t>{}, Tag<std::int64_t>{});
    case DType::kInt32:
      return f(Tag<std::int32_t>{}, Tag<std::int64_t>{});
    case DType::kUint8:
      return f(Tag<std::uint8_t>{}, Tag<std::uint64_t>{});
    case DType::kUint16:
      return f(Tag<std::uint16_t>{}, Tag<std::uint64_t>{});
    default:
      return f(Tag<std::uint32_t>{}, Tag<std::uint64_t>{});
  }
}

template <class From, class To>
void convert_all(const std::byte* from, std::byte* to, std::size_t count) {
  const auto* x = reinterpret_cast<const From*>(from);
  auto* y = reinterpret_cast<To*>(to);
  for (std::size_t i = 0; i < count; ++i) {
    y[i] = convert<To>(x[i]);
  }
}

template <class Wide, class Narrow>
void narrow_all(const std::byte* from, std::byte* to, std::size_t count, Narrowing narrowing) {
  if constexpr (std::is_integral_v<Wide>) {
    if (narrowing == Narrowing::kSaturate) {
      using Limits = std::numeric_limits<Narrow>;
      const auto* x = reinterpret_cast<const Wide*>(from);
      auto* y = reinterpret_cast<Narrow*>(to);
      for (std::size_t i = 0; i < count; ++i) {
        y[i] = static_cast<Narrow>(std::clamp(x[i], static_cast<Wide>(Limits::min()),
                                              static_cast<Wide>(Limits::max())));
      }
      return;
    }
  }
  convert_all<Wide, Narrow>(from, to, count);
}

/// A value that is converted, and where its wider form lies in scratch memory.
struct Converted {
  std::size_t index = 0;
  DType narrow = DType::kFloat16;
  std::size_t count = 0;
  std::size_t offset = 0;
};

/// The request of the wider kernel, whose types live here.
class WiderRequest {
 public:
  explicit WiderRequest(const KernelRequest& request) : request_(request) {
    types_.reserve(request.inputs.size() + request.outputs.size());
    inputs_ = widen(request_.inputs);
    outputs_ = widen(request_.outputs);
  }

  const KernelRequest& request() const { return request_; }
  const std::vector<Converted>& inputs() const { return inputs_; }
  const std::vector<Converted>& outputs() const { return outputs_; }
  /// For all of them.
  std::size_t bytes() const { return bytes_; }

 private:
  std::vector<Converted> widen(std::vector<Operand>& operands) {
    std::vector<Converted> result;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Operand& operand = operands[i];
      const auto dtype = operand ? wider(operand.dtype()) : std::nullopt;
      if (!dtype) {
        continue;
      }
      const std::size_t count = count_of(operand);
      result.push_back({i, operand.dtype(), count, bytes_});
      bytes_ += (count * size_of(*dtype) + kAlignment - 1) / kAlignment * kAlignment;
      TensorType& type = types_.emplace_back(*operand.type);
      type.dtype = *dtype;
      operand.type = &type;
    }
    return result;
  }

  KernelRequest request_;
  std::vector<TensorType> types_;
  std::vector<Converted> inputs_;
  std::vector<Converted> outputs_;
  std::size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_wide(const KernelRequest& request, const KernelMaker& make,
                                  Narrowing narrowing) {
  if (auto kernel = make(request)) {
    return kernel;
  }
  const WiderRequest wide(request);
  if (wide.inputs().empty() && wide.outputs().empty()) {
    return nullptr;
  }
  std::shared_ptr<const Kernel> kernel = make(wide.request());
  if (kernel == nullptr) {
    return nullptr;
  }
  const std::size_t scratch = wide.bytes() + kernel->scratch_bytes();
  return make_kernel(
      [kernel = std::move(kernel), inputs = wide.inputs(), outputs = wide.outputs(),
       own = wide.bytes(), narrowing](const Buffers& buffers) {
        std::vector<const std::byte*> from(buffers.inputs.begin(), buffers.inputs.end());
        std::vector<std::byte*> to(buffers.outputs.begin(), buffers.outputs.end());
        for (const Converted& each : inputs) {
          with_types(each.narrow, [&]<class N, class W>(Tag<N>, Tag<W>) {
            convert_all<N, W>(from[each.index], buffers.scratch + each.offset, each.count);
          });
          from[each.index] = buffers.scratch + each.offset;
        }
        for (const Converted& each : outputs) {
          to[each.index] = buffers.scratch + each.offset;
        }
        kernel->run({.inputs = from, .outputs = to, .scratch = buffers.scratch + own});
        for (const Converted& each : outputs) {
          with_types(each.narrow, [&]<class N, class W>(Tag<N>, Tag<W>) {
            narrow_all<W, N>(to[each.index], buffers.outputs[each.index], each.count,
                             narrowing);
          });
        }
      },
      scratch);
}

}  // namespace tare
