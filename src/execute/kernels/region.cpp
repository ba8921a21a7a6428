#include "tare/error.h"

#include "execute/operands.h"
#include "execute/run/inner_program.h"

#include <cstring>

namespace tare {
namespace {

/// A region that was taken out of a graph, see with_region_nodes(): runs the graph that it
/// holds.
class Region : public Kernel {
 public:
  explicit Region(const KernelRequest& request) : body_(request, "body") {
    if (body_.outputs().size() != request.outputs.size()) {
      throw Error(ErrorCode::kInvalidModel, "", "its body has other results than it");
    }
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
      expect_shape(request.outputs[i], body_.outputs()[i].shape);
    }
    for (std::size_t i = 0; i < body_.own_inputs().size(); ++i) {
      expect_shape(required(request, i), body_.own_inputs()[i].shape);
      if (request.inputs[i].dtype() != body_.own_inputs()[i].dtype) {
        throw Error(ErrorCode::kInvalidModel, "", "its body has operands of other types");
      }
    }
  }

  bool packs(std::size_t operand) const override { return body_.packs(operand); }
  std::size_t packed_bytes() const override { return body_.packed_bytes(); }
  std::unique_ptr<KernelState> make_state() const override {
    return std::make_unique<InnerProgram::State>(body_);
  }

  void run(const Buffers& buffers) const override {
    auto& state = static_cast<InnerProgram::State&>(*buffers.state);
    state.capture(buffers);
    std::vector<Tensor> own;
    for (std::size_t i = 0; i < body_.own_inputs().size(); ++i) {
      own.push_back(tensor_at(body_.own_inputs()[i], buffers.inputs[i]));
    }
    const std::vector<Tensor> results = state.run(std::move(own));
    for (std::size_t i = 0; i < results.size(); ++i) {
      std::memcpy(buffers.outputs[i], results[i].data(), results[i].byte_size());
    }
  }

 private:
  InnerProgram body_;
};

}  // namespace
}  // namespace tare

TARE_KERNEL(region) {
  using namespace tare;
  return {.ops = {"Region"},
          .make = [](const KernelRequest& request) -> std::unique_ptr<Kernel> {
            return std::make_unique<Region>(request);
          }};
}
