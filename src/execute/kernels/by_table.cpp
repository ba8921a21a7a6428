// Functions of one value on storage values: a table of results. With ONNX's numerics it is made
// by expressing every storage value, applying the float kernel and quantizing, so that it gives
// what they would, and is for 8 bits.
//
// A table has one entry for each storage value: 256, or 65536 for functions of TensorFlow Lite
// in 16 bits. Making it costs as many calls of the function, once; an element costs one look.
#include "tare/execute.h"

#include "execute/elements/byte_table.h"
#include "execute/elements/storage_function.h"
#include "execute/kernel.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/storage_type.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace tare {
namespace {

bool is_per_tensor(const Operand& operand) {
  return operand.type->quant && !operand.type->quant->per_axis() &&
         size_of(operand.dtype()) <= 2;
}

template <class Code>
void count_up(Tensor& all) {
  std::vector<Code> codes(static_cast<std::size_t>(all.size()));
  std::iota(codes.begin(), codes.end(), Code{0});
  std::memcpy(all.mutable_data(), codes.data(), all.byte_size());
}

/// Every storage value there is, by its bits.
Tensor all_values(const QuantParams& params) {
  const std::size_t size = size_of(params.storage);
  Tensor all(params.storage, {std::int64_t{1} << (8 * size)});
  if (size == 1) {
    count_up<std::uint8_t>(all);
  } else {
    count_up<std::uint16_t>(all);
  }
  return all;
}

/// What the float kernel makes of them.
Tensor expressed_results(const Node& node, const QuantParams& from, const QuantParams& to) {
  const Tensor expressed = dequantize(all_values(from), from);
  const std::array operands{&expressed};
  const TensorType real{
      .dtype = DType::kFloat32, .shape = expressed.shape(), .quant = {}, .point = {}};
  return quantize(evaluate(node, operands, {&real, 1}).front(), to);
}

Tensor results_of(const StorageFunction& f, const QuantParams& from, const QuantParams& to) {
  const std::vector<std::int64_t> values = all_values(from).to_int64();
  Tensor results(to.storage, {static_cast<std::int64_t>(values.size())});
  with_storage(to.storage, [&]<class Q>(Q) {
    std::transform(
        values.begin(), values.end(), results.mutable_view<Q>().begin(),
        [&](std::int64_t q) { return static_cast<Q>(f(static_cast<std::int32_t>(q))); });
  });
  return results;
}

template <class Code>
std::unique_ptr<Kernel> lookup(const Tensor& table, std::size_t count) {
  return make_kernel([table, count](const Buffers& buffers) {
    const auto* from = reinterpret_cast<const Code*>(buffers.inputs[0]);
    const auto* results = reinterpret_cast<const Code*>(table.data());
    auto* to = reinterpret_cast<Code*>(buffers.outputs[0]);
    if constexpr (sizeof(Code) == 1) {
      look_up(results, from, to, count);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        to[i] = results[from[i]];
      }
    }
  });
}

std::unique_ptr<Kernel> make_by_table(const KernelRequest& request) {
  const Operand& x = request.inputs[0];
  const Operand& y = request.outputs[0];
  if (!is_per_tensor(x) || !is_per_tensor(y) || x.shape() != y.shape()) {
    return nullptr;
  }
  const QuantParams& from = *x.type->quant;
  const QuantParams& to = *y.type->quant;
  const bool bytes = size_of(from.storage) == 1 && size_of(to.storage) == 1;
  const auto count = static_cast<std::size_t>(element_count(x.shape()));
  if (numerics(request.attributes()) == Numerics::kOnnxRuntime) {
    return bytes ? lookup<std::uint8_t>(expressed_results(*request.node, from, to), count)
                 : nullptr;
  }
  const StorageFunction f = tflite_function(*request.node, from, to);
  if (f == nullptr || size_of(from.storage) != size_of(to.storage)) {
    return nullptr;
  }
  const Tensor table = results_of(f, from, to);
  return bytes ? lookup<std::uint8_t>(table, count) : lookup<std::uint16_t>(table, count);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(by_table) {
  using namespace tare;
  return {.rules = {AffineRule::kTabulates},
          .layout = [](const KernelRequest&) { return LayoutRule::kFollow; },
          .make = make_by_table,
          .in_place = true,
          .for_storage = true,
          .numerics = {Numerics::kOnnxRuntime, Numerics::kTfliteRef, Numerics::kTfliteBuiltin,
                       Numerics::kTfliteXnn}};
}
