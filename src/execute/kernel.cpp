#include "execute/kernel.h"

#include "tare/error.h"

#include <algorithm>

namespace tare {
namespace {

class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(std::function<void(const Buffers&)> run, std::size_t scratch_bytes)
      : run_(std::move(run)), scratch_bytes_(scratch_bytes) {}

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  void run(const Buffers& buffers) const override { run_(buffers); }

 private:
  std::function<void(const Buffers&)> run_;
  std::size_t scratch_bytes_;
};

}  // namespace

Shape Operand::physical_shape() const {
  Shape result = shape();
  if (layout == Layout::kChannelsLast) {
    result.erase(result.begin() + 1);
    result.push_back(shape()[1]);
  }
  return result;
}

std::vector<std::int64_t> Operand::strides() const {
  const Shape physical = physical_shape();
  std::vector<std::int64_t> in_memory(physical.size(), 1);
  for (std::size_t i = physical.size(); i-- > 1;) {
    in_memory[i - 1] = in_memory[i] * physical[i];
  }
  std::vector<std::int64_t> result(physical.size());
  for (std::size_t axis = 0; axis < result.size(); ++axis) {
    result[axis] = in_memory[physical_axis(axis)];
  }
  return result;
}

std::size_t Operand::physical_axis(std::size_t axis) const {
  if (layout == Layout::kPlain || axis == 0) {
    return axis;
  }
  return axis == 1 ? shape().size() - 1 : axis - 1;
}

std::vector<std::int64_t> KernelRequest::integers(std::size_t operand) const {
  if (!has_input(operand) || inputs[operand].constant == nullptr) {
    throw Error(ErrorCode::kUnsupported, "",
                "operand " + std::to_string(operand) + " is computed while running")
        .expected("a constant");
  }
  return inputs[operand].constant->to_int64();
}

bool scales_along(const std::vector<PostOp>& post_ops, std::size_t axis) {
  return std::all_of(post_ops.begin(), post_ops.end(), [&](const PostOp& op) {
    return !op.axis || *op.axis == static_cast<int>(axis);
  });
}

std::unique_ptr<Kernel> make_kernel(std::function<void(const Buffers&)> run,
                                    std::size_t scratch_bytes) {
  return std::make_unique<FunctionKernel>(std::move(run), scratch_bytes);
}

}  // namespace tare
