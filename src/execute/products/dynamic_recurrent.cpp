// Recurrent layers with weights of 8 bits, whose other factors get their scales while they run.
// Weights are what they stand for from the start, as real values, so the cell is that of real
// layers.
#include "execute/products/dynamic_recurrent.h"

#include "tare/error.h"

#include "execute/operands.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tare {
namespace {

constexpr std::size_t kWeightOfInput = 1;
constexpr std::size_t kWeightOfState = 2;
constexpr std::size_t kOperandsOfLstm = 8;  ///< behind them the parameters of weights

/// One of W and R, with where its scale stands; the zero point follows.
struct StoredWeights {
  std::size_t operand;
  std::size_t scale;
};
constexpr std::array kWeights{StoredWeights{kWeightOfInput, kOperandsOfLstm},
                              StoredWeights{kWeightOfState, kOperandsOfLstm + 2}};

bool is_stored_weight(std::size_t operand) {
  return operand == kWeightOfInput || operand == kWeightOfState || operand >= kOperandsOfLstm;
}

/// One number for all results of a direction, or one for each.
void check_parameters(const Operand& parameters, const Shape& weights) {
  if (parameters.shape() != Shape{weights[0]}) {
    expect_shape(parameters, {weights[0], weights[2]});
  }
}

/// [directions, results, inputs], as LSTM takes them.
Tensor real_weights(const KernelRequest& request, const StoredWeights& place) {
  const Operand& stored = required(request, place.operand);
  const Operand& scale = required(request, place.scale);
  const Operand& zero_point = required(request, place.scale + 1);
  const Shape& shape = stored.shape();
  if (shape.size() != 3) {
    throw Error(ErrorCode::kInvalidModel, "", "weights have shape " + to_string(shape))
        .expected("rank 3");
  }
  check_parameters(scale, shape);
  check_parameters(zero_point, shape);
  const std::vector<std::int64_t> values = stored.constant->to_int64();
  const std::vector<float> scales = scale.constant->to_float();
  const std::vector<std::int64_t> zeros = zero_point.constant->to_int64();
  const auto inputs = static_cast<std::size_t>(shape[1]);
  const auto results = static_cast<std::size_t>(shape[2]);
  Tensor real(DType::kFloat32, {shape[0], shape[2], shape[1]});
  const auto to = real.mutable_view<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t direction = i / (inputs * results);
    const std::size_t row = direction * results + i % results;
    const auto own = [&](std::size_t count) {
      return count == static_cast<std::size_t>(shape[0]) ? direction : row;
    };
    to[row * inputs + i / results % inputs] =
        static_cast<float>(values[i] - zeros[own(zeros.size())]) * scales[own(scales.size())];
  }
  return real;
}

class DynamicRecurrent final : public Kernel {
 public:
  DynamicRecurrent(const Cell& cell, const KernelRequest& request) {
    KernelRequest real = request;
    real.inputs.resize(std::min(request.inputs.size(), std::size_t{kOperandsOfLstm}));
    std::array<TensorType, kWeights.size()> types;
    for (std::size_t i = 0; i < kWeights.size(); ++i) {
      weights_[i] = real_weights(request, kWeights[i]);
      types[i] = {DType::kFloat32, weights_[i].shape(), {}, {}};
      real.inputs[kWeights[i].operand] = {.type = &types[i], .constant = &weights_[i]};
    }
    cell_ = make_recurrent(cell, real);
  }

  bool is_usable() const { return cell_ != nullptr; }

  std::size_t scratch_bytes() const override { return cell_->scratch_bytes(); }
  bool packs(std::size_t operand) const override { return is_stored_weight(operand); }
  std::size_t packed_bytes() const override {
    return (weights_[0].size() + weights_[1].size()) * sizeof(float);
  }

  void run(const Buffers& buffers) const override {
    std::vector<const std::byte*> inputs(buffers.inputs.begin(), buffers.inputs.end());
    inputs.resize(std::min(inputs.size(), std::size_t{kOperandsOfLstm}));
    for (std::size_t i = 0; i < kWeights.size(); ++i) {
      inputs[kWeights[i].operand] = weights_[i].data();
    }
    Buffers real = buffers;
    real.inputs = inputs;
    cell_->run(real);
  }

 private:
  std::array<Tensor, kWeights.size()> weights_;  ///< as kWeights
  std::unique_ptr<Kernel> cell_;
};

}  // namespace

std::unique_ptr<Kernel> make_dynamic_recurrent(Cell cell, const KernelRequest& request) {
  if (request.attributes().integer("layout", 0) != 0) {
    throw Error(ErrorCode::kInvalidModel, "", "has a layout, which this operator has not");
  }
  for (std::size_t i = 0; i < kOperandsOfLstm + 2 * kWeights.size(); ++i) {
    if (is_stored_weight(i) && required(request, i).constant == nullptr) {
      return nullptr;
    }
  }
  cell.quantizes_operands = true;
  auto kernel = std::make_unique<DynamicRecurrent>(cell, request);
  return kernel->is_usable() ? std::move(kernel) : nullptr;
}

}  // namespace tare
