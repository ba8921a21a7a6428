// Conv, ConvTranspose, Gemm and MatMul in accumulators of a stated width, product after
// product: on the storage values of an integer graph, and on those that a simulated graph holds
// in float32, less their zero points already.
//
// Sums that saturate depend on the order of their terms, which is that of the weights in memory
// (docs/decisions/0015-saturation-goes-by-the-order-of-weights.md). So this runs in loops of
// its own, product after product without any library, and only where some input could overflow.

#include "execute/kernel.h"
#include "execute/operands.h"
#include "execute/products/convolution_runs.h"
#include "execute/products/matrix_batches.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/per_axis.h"
#include "graph/arithmetic/storage_type.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <limits>
#include <variant>

namespace tare {
namespace {

struct Matrices {
  MatrixBatches batches;
  bool transposed = false;  ///< the weights are [columns, depth]
};

using Loops = std::variant<ConvolutionRuns, Matrices>;

Loops make_loops(const KernelRequest& request) {
  const Attributes& attributes = request.attributes();
  const Shape& x = request.inputs[0].shape();
  const Shape& w = request.inputs[1].shape();
  const Shape& y = request.outputs[0].shape();
  if (request.node->op == "Conv") {
    return convolution_runs(attributes, x, w, y);
  }
  if (request.node->op == "ConvTranspose") {
    return transposed_runs(attributes, x, w, y);
  }
  const bool transposed = attributes.integer("transB", 0) != 0;
  const Shape right = transposed ? Shape(w.rbegin(), w.rend()) : w;
  Matrices matrices{make_matrix_batches(x, right), transposed};
  expect_shape(request.outputs[0], matrices.batches.result);
  return matrices;
}

template <class Add>
void multiply(const Loops& loops, const std::int32_t* x, const std::int32_t* w,
              const std::int32_t* bias, std::int32_t* y, Add add) {
  if (const auto* runs = std::get_if<ConvolutionRuns>(&loops)) {
    convolve(*runs, x, w, bias, y, add);
    return;
  }
  const auto& [batches, transposed] = std::get<Matrices>(loops);
  const auto& [rows, depth, columns, pairs, result] = batches;
  for (const auto& [at_x, at_w] : pairs) {
    for (std::int64_t row = 0; row < rows; ++row, y += columns) {
      for (std::int64_t column = 0; column < columns; ++column) {
        y[column] = bias != nullptr ? bias[column] : 0;
      }
      const std::int32_t* left = x + (at_x * rows + row) * depth;
      const std::int64_t step = transposed ? depth : 1;
      for (std::int64_t k = 0; k < depth; ++k) {
        const std::int32_t* right = w + (transposed ? k : (at_w * depth + k) * columns);
        for (std::int64_t column = 0; column < columns; ++column) {
          y[column] = add(y[column], right[column * step], left[k]);
        }
      }
    }
  }
}

/// A factor less its zero point; what a simulated graph holds is that. The largest magnitude.
std::int64_t read_factor(const TensorType& type, const std::byte* from, std::int32_t* to) {
  std::int32_t most = 0;
  const auto take = [&](std::int32_t value, std::size_t i) {
    to[i] = value;
    most = std::max(most, std::abs(value));
  };
  if (type.dtype == DType::kFloat32) {
    const auto* values = reinterpret_cast<const float*>(from);
    for (std::size_t i = 0; i < static_cast<std::size_t>(element_count(type.shape)); ++i) {
      take(static_cast<std::int32_t>(values[i]), i);
    }
    return most;
  }
  with_storage(type.dtype, [&](auto tag) {
    const auto* values = reinterpret_cast<const decltype(tag)*>(from);
    for_each_slice(type.shape, type.quant->axis,
                   [&](std::size_t channel, std::size_t first, std::size_t count) {
                     const std::int32_t zero = type.quant->zero_point[channel];
                     for (std::size_t i = first; i < first + count; ++i) {
                       take(static_cast<std::int32_t>(values[i]) - zero, i);
                     }
                   });
  });
  return most;
}

/// In range.
template <class Number>
void read_bias(const Accumulator& held, std::int64_t count, const std::byte* from,
               std::int32_t* to) {
  const auto* values = reinterpret_cast<const Number*>(from);
  std::transform(values, values + count, to, [&](Number value) {
    return static_cast<std::int32_t>(held.hold(static_cast<std::int64_t>(value)));
  });
}

/// Sums that stay in range; `Wide` holds one more product.
template <class Wide>
auto saturating(const Accumulator& held) {
  return [low = static_cast<Wide>(held.low()), high = static_cast<Wide>(held.high())](
             std::int32_t sum, std::int32_t w, std::int32_t x) {
    const Wide next = Wide{sum} + Wide{w} * Wide{x};
    return static_cast<std::int32_t>(std::clamp(next, low, high));
  };
}

/// Sums whose lowest 32 bits are right.
std::int32_t wrapping(std::int32_t sum, std::int32_t w, std::int32_t x) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) +
                                   static_cast<std::uint32_t>(w) *
                                       static_cast<std::uint32_t>(x));
}

class NarrowProduct final : public Kernel {
 public:
  explicit NarrowProduct(const KernelRequest& request)
      : held_(accumulator(request.attributes())),
        loops_(make_loops(request)),
        x_(*request.inputs[0].type),
        w_(*request.inputs[1].type),
        result_(*request.outputs[0].type) {
    if (request.has_input(2)) {
      expect_count(request.inputs[2], WeightResults(*request.node, w_.shape).count());
      bias_ = *request.inputs[2].type;
    }
  }

  std::size_t scratch_bytes() const override {
    const std::int64_t count = element_count(result_.shape) + element_count(x_.shape) +
                               element_count(w_.shape) +
                               (bias_ ? element_count(bias_->shape) : 0);
    return static_cast<std::size_t>(count) * sizeof(std::int32_t);
  }

  void run(const Buffers& buffers) const override {
    auto* const sums = reinterpret_cast<std::int32_t*>(buffers.scratch);
    std::int32_t* const x = sums + element_count(result_.shape);
    std::int32_t* const w = x + element_count(x_.shape);
    std::int32_t* const bias = bias_ ? w + element_count(w_.shape) : nullptr;
    const std::int64_t most =
        read_factor(x_, buffers.inputs[0], x) * read_factor(w_, buffers.inputs[1], w);
    if (bias_) {
      (bias_->dtype == DType::kInt32
           ? read_bias<std::int32_t>
           : read_bias<float>)(held_, element_count(bias_->shape), buffers.inputs[2], bias);
    }
    if (held_.overflow == Overflow::kWrap) {
      multiply(loops_, x, w, bias, sums, wrapping);
    } else if (most < std::numeric_limits<std::int32_t>::max() - held_.high()) {
      multiply(loops_, x, w, bias, sums, saturating<std::int32_t>(held_));
    } else {
      multiply(loops_, x, w, bias, sums, saturating<std::int64_t>(held_));
    }
    if (result_.dtype == DType::kInt32) {
      write(sums, reinterpret_cast<std::int32_t*>(buffers.outputs[0]));
    } else {
      write(sums, reinterpret_cast<float*>(buffers.outputs[0]));
    }
  }

 private:
  template <class Number>
  void write(const std::int32_t* sums, Number* to) const {
    std::transform(sums, sums + element_count(result_.shape), to,
                   [this](std::int32_t sum) { return static_cast<Number>(held_.hold(sum)); });
  }

  Accumulator held_;
  Loops loops_;
  TensorType x_;
  TensorType w_;
  std::optional<TensorType> bias_;  ///< one for each result
  TensorType result_;
};

bool is_simulated(const KernelRequest& request) {
  return all_f32(request) && request.outputs[0].dtype() == DType::kFloat32;
}

bool is_integer(const KernelRequest& request) {
  const auto is_factor = [](const Operand& operand) {
    return operand.type->quant && operand.dtype() == operand.type->quant->storage &&
           !is_sum_type(operand.dtype());
  };
  return is_factor(required(request, 0)) && is_factor(required(request, 1)) &&
         (!request.has_input(2) || request.inputs[2].dtype() == DType::kInt32) &&
         request.outputs[0].dtype() == DType::kInt32;
}

std::unique_ptr<Kernel> make_narrow_product(const KernelRequest& request) {
  if (!states_accumulator(request.attributes()) ||
      !(is_simulated(request) || is_integer(request))) {
    return nullptr;
  }
  return std::make_unique<NarrowProduct>(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(narrow_product) {
  using namespace tare;
  return {.ops = {"Conv", "ConvTranspose", "Gemm", "MatMul"},
          .make = make_narrow_product,
          .for_storage = true,
          .takes_accumulators = true};
}
