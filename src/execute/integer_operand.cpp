#include "execute/integer_operand.h"

#include "execute/fixed_point.h"
#include "execute/operands.h"

namespace tare {
namespace {

bool is_8_bit(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kInt8;
}

/// f(Tag<Q>) for the 8-bit type.
template <class F>
void with_storage8(bool is_signed, F&& f) {
  if (is_signed) {
    f(Tag<std::int8_t>{});
  } else {
    f(Tag<std::uint8_t>{});
  }
}

}  // namespace

Channels parameter_channels(const KernelRequest& request, std::size_t parameter,
                            const Channels& channels) {
  if (!request.has_input(parameter) || count_of(request.inputs[parameter]) == 1) {
    return {};
  }
  expect_count(request.inputs[parameter], channels.count);
  return channels;
}

Centered::Centered(const KernelRequest& request, std::size_t values, std::size_t zero,
                   const Channels& channels)
    : values_(values),
      zero_(zero),
      has_zero_(request.has_input(zero)),
      is_signed_(request.inputs[values].dtype() == DType::kInt8),
      count_(count_of(request.inputs[values])),
      channels_(parameter_channels(request, zero, channels)) {}

bool Centered::takes(const KernelRequest& request, std::size_t values, std::size_t zero) {
  const DType dtype = required(request, values).dtype();
  return is_8_bit(dtype) && (!request.has_input(zero) || request.inputs[zero].dtype() == dtype);
}

void Centered::operator()(const Buffers& buffers, std::int32_t* result) const {
  with_storage8(is_signed_, [&]<class Q>(Tag<Q>) {
    const Q* values = input<Q>(buffers, values_);
    const Q none = 0;
    const Q* zero = has_zero_ ? input<Q>(buffers, zero_) : &none;
    for (std::size_t i = 0; i < count_; ++i) {
      result[i] = values[i] - zero[channels_.of(i)];
    }
  });
}

Requantization::Requantization(const KernelRequest& request, const Operands& operands,
                               const Channels& a, const Channels& b)
    : operands_(operands),
      a_(parameter_channels(request, operands.scale_a, a)),
      b_(parameter_channels(request, operands.scale_b, b)),
      is_signed_(request.outputs[0].dtype() == DType::kInt8),
      count_(count_of(request.outputs[0])) {
  expect_count(request.inputs[operands.scale_y], 1);
  expect_count(request.inputs[operands.zero_y], 1);
}

bool Requantization::takes(const KernelRequest& request, const Operands& operands) {
  const DType storage = request.outputs[0].dtype();
  return is_8_bit(storage) && required(request, operands.zero_y).dtype() == storage &&
         required(request, operands.scale_a).dtype() == DType::kFloat32 &&
         required(request, operands.scale_b).dtype() == DType::kFloat32 &&
         required(request, operands.scale_y).dtype() == DType::kFloat32;
}

void Requantization::operator()(const Buffers& buffers, const std::int32_t* sums) const {
  const float* scale_a = input<float>(buffers, operands_.scale_a);
  const float* scale_b = input<float>(buffers, operands_.scale_b);
  const float scale_y = *input<float>(buffers, operands_.scale_y);
  with_storage8(is_signed_, [&]<class Q>(Tag<Q>) {
    const auto zero = static_cast<std::int32_t>(*input<Q>(buffers, operands_.zero_y));
    for (std::size_t i = 0; i < count_; ++i) {
      const float scale = scale_a[a_.of(i)] * scale_b[b_.of(i)] / scale_y;
      output<Q>(buffers, 0)[i] = round_to_storage<Q>(static_cast<float>(sums[i]) * scale, zero);
    }
  });
}

}  // namespace tare
