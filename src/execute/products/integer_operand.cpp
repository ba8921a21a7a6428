// An 8-bit operand less its zero points, in int32, as ONNX's integer operators multiply it. One
// pass over it, so that the product itself has no zero points to carry.
#include "execute/products/integer_operand.h"

#include "execute/elements/dispatch.h"
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

/// One value or one per channel; the channels to use then.
Channels parameter_channels(const KernelRequest& request, std::size_t parameter,
                            const Channels& channels) {
  if (!request.has_input(parameter) || count_of(request.inputs[parameter]) == 1) {
    return {};
  }
  expect_count(request.inputs[parameter], channels.count);
  return channels;
}

}  // namespace

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

}  // namespace tare
