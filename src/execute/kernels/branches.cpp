#include "tare/error.h"

#include "execute/operands.h"
#include "execute/run/inner_program.h"

#include <cstring>

namespace tare {
namespace {

/// If whose condition depends on data: the graph that it picks is run.
class Branches : public Kernel {
 public:
  explicit Branches(const KernelRequest& request)
      : then_(request, "then_branch"), else_(request, "else_branch") {
    for (const InnerProgram* branch : {&then_, &else_}) {
      if (!branch->own_inputs().empty() || branch->outputs().size() != request.outputs.size()) {
        throw Error(ErrorCode::kInvalidModel, "",
                    "a branch has other inputs or results than it");
      }
      for (std::size_t i = 0; i < request.outputs.size(); ++i) {
        expect_shape(request.outputs[i], branch->outputs()[i].shape);
      }
    }
    expect_count(required(request, 0), 1);
  }

  bool packs(std::size_t operand) const override {
    return then_.packs(operand) || else_.packs(operand);
  }
  std::size_t packed_bytes() const override {
    return then_.packed_bytes() + else_.packed_bytes();
  }
  std::unique_ptr<KernelState> make_state() const override {
    return std::make_unique<State>(then_, else_);
  }

  void run(const Buffers& buffers) const override {
    auto& states = static_cast<State&>(*buffers.state);
    const bool holds = *buffers.inputs[0] != std::byte{0};
    InnerProgram::State& state = holds ? states.on_true : states.on_false;
    state.capture(buffers);
    const std::vector<Tensor> results = state.run({});
    for (std::size_t i = 0; i < results.size(); ++i) {
      std::memcpy(buffers.outputs[i], results[i].data(), results[i].byte_size());
    }
  }

 private:
  struct State : KernelState {
    State(const InnerProgram& then_branch, const InnerProgram& else_branch)
        : on_true(then_branch), on_false(else_branch) {}
    InnerProgram::State on_true;
    InnerProgram::State on_false;
  };

  InnerProgram then_;
  InnerProgram else_;
};

}  // namespace
}  // namespace tare

TARE_KERNEL(branches) {
  using namespace tare;
  return {.ops = {"If"}, .make = [](const KernelRequest& request) -> std::unique_ptr<Kernel> {
            return std::make_unique<Branches>(request);
          }};
}
