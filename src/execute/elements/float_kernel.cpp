#include "execute/elements/float_kernel.h"

#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>

namespace tare {

FloatRequest::FloatRequest(const KernelRequest& storage)
    : request_(storage), node_(*storage.node) {
  request_.node = &node_;
  set_accumulator(node_.attributes, {});
  set_numerics(node_.attributes, Numerics::kOnnxRuntime);
  request_.precise = false;  // sums of integers are exact already
  const auto to_float = [this](Operand& operand) {
    if (operand && operand.type->quant) {
      types_.push_back(
          {.dtype = DType::kFloat32, .shape = operand.shape(), .quant = {}, .point = {}});
      operand.type = &types_.back();
      operand.constant = nullptr;
    }
  };
  std::for_each(request_.inputs.begin(), request_.inputs.end(), to_float);
  std::for_each(request_.outputs.begin(), request_.outputs.end(), to_float);
}

void FloatRequest::truncate(std::size_t count) {
  request_.inputs.resize(std::min(count, request_.inputs.size()));
  node_.inputs.resize(std::min(count, node_.inputs.size()));
}

void FloatRequest::set_constant(std::size_t i, const Tensor& tensor) {
  constants_.push_back(tensor);
  request_.inputs[i].constant = &constants_.back();
}

std::unique_ptr<Kernel> FloatRequest::make() const {
  for (const KernelInfo* info : kernels_for(request_)) {
    if (auto kernel = info->make ? info->make(request_) : nullptr) {
      return kernel;
    }
  }
  return nullptr;
}

LayoutRule FloatRequest::layout() const {
  const auto candidates = kernels_for(request_);
  return candidates.empty() ? LayoutRule::kPlain : candidates.front()->layout(request_);
}

}  // namespace tare
