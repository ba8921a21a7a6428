#include "tare/error.h"

#include "execute/operands.h"
#include "execute/run/inner_program.h"

#include <cstring>
#include <limits>

namespace tare {
namespace {

/// Runs its body until it has run often enough or says that it is done. Results that are
/// collected have one more axis in front, whose extent was known when memory was planned.
class Loop : public Kernel {
 public:
  explicit Loop(const KernelRequest& request) : body_(request, "body") {
    const std::vector<TensorType>& inputs = body_.own_inputs();
    if (inputs.size() < 2 || body_.outputs().size() < inputs.size() - 1 ||
        body_.outputs().size() != request.outputs.size() + 1) {
      throw Error(ErrorCode::kInvalidModel, "", "its body has other inputs or results than it");
    }
    states_ = inputs.size() - 2;
    for (std::size_t i = 0; i < states_; ++i) {
      states_types_.push_back(inputs[i + 2]);
      expect_shape(required(request, i + 2), inputs[i + 2].shape);
      expect_shape(request.outputs[i], inputs[i + 2].shape);
      if (body_.outputs()[i + 1].shape != inputs[i + 2].shape) {
        throw Error(ErrorCode::kInvalidModel, "", "a state changes its shape");
      }
    }
    for (std::size_t i = states_; i < request.outputs.size(); ++i) {
      const Shape& shape = request.outputs[i].shape();
      iterations_ = shape.empty() ? 0 : shape[0];
      Shape expected = body_.outputs()[i + 1].shape;
      expected.insert(expected.begin(), iterations_.value());
      expect_shape(request.outputs[i], expected);
    }
    has_most_ = request.has_input(0);
    has_condition_ = request.has_input(1);
  }

  bool packs(std::size_t operand) const override { return body_.packs(operand); }
  std::size_t packed_bytes() const override { return body_.packed_bytes(); }
  std::unique_ptr<KernelState> make_state() const override {
    return std::make_unique<InnerProgram::State>(body_);
  }

  void run(const Buffers& buffers) const override {
    auto& body = static_cast<InnerProgram::State&>(*buffers.state);
    body.capture(buffers);
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (has_most_) {
      std::memcpy(&most, buffers.inputs[0], sizeof most);
    }
    bool goes_on = !has_condition_ || *buffers.inputs[1] != std::byte{0};
    std::vector<Tensor> states;
    for (std::size_t i = 0; i < states_; ++i) {
      states.push_back(tensor_at(states_types_[i], buffers.inputs[i + 2]));
    }
    std::int64_t iteration = 0;
    for (; iteration < most && goes_on; ++iteration) {
      if (iteration >= iterations_.value_or(kMostIterations)) {
        break;
      }
      std::vector<Tensor> own{Tensor::scalar(iteration), Tensor::scalar(true)};
      own.insert(own.end(), states.begin(), states.end());
      std::vector<Tensor> results = body.run(std::move(own));
      goes_on = results[0].data()[0] != std::byte{0};
      for (std::size_t i = 0; i < states_; ++i) {
        states[i] = std::move(results[i + 1]);
      }
      for (std::size_t i = states_ + 1; i < results.size(); ++i) {
        const std::size_t bytes = results[i].byte_size();
        std::memcpy(buffers.outputs[i - 1] + static_cast<std::size_t>(iteration) * bytes,
                    results[i].data(), bytes);
      }
    }
    if (iterations_ ? iteration != *iterations_ : iteration == kMostIterations) {
      throw Error(ErrorCode::kUnsupported, "",
                  "ended after " + std::to_string(iteration) + " iterations")
          .expected(iterations_ ? std::to_string(*iterations_)
                                : "fewer than " + std::to_string(kMostIterations));
    }
    for (std::size_t i = 0; i < states_; ++i) {
      std::memcpy(buffers.outputs[i], states[i].data(), states[i].byte_size());
    }
  }

 private:
  /// A loop that no number bounds may never end.
  static constexpr std::int64_t kMostIterations = 1'000'000;

  InnerProgram body_;
  std::size_t states_ = 0;
  std::vector<TensorType> states_types_;
  std::optional<std::int64_t> iterations_;  ///< where results are collected
  bool has_most_ = false;
  bool has_condition_ = false;
};

}  // namespace
}  // namespace tare

TARE_KERNEL(loop) {
  using namespace tare;
  return {.ops = {"Loop"}, .make = [](const KernelRequest& request) -> std::unique_ptr<Kernel> {
            return std::make_unique<Loop>(request);
          }};
}
