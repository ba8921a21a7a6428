
#include "execute/kernel.h"
#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>

#define TARE_X(stem) TARE_KERNEL(stem);
#include "kernel_list.inc"
#undef TARE_X

namespace tare {

const std::vector<KernelInfo>& kernel_registry() {
  static const std::vector<KernelInfo> kernels{
#define TARE_X(stem) tare_kernel_##stem(),
#include "kernel_list.inc"
#undef TARE_X
  };
  return kernels;
}

namespace {

/// In file order.
const std::vector<const KernelInfo*>& kernels_of(const std::string& op) {
  static const auto by_op = [] {
    std::unordered_map<std::string, std::vector<const KernelInfo*>> result;
    for (const KernelInfo& info : kernel_registry()) {
      for (const std::string& each : info.ops) {
        result[each].push_back(&info);
      }
    }
    return result;
  }();
  static const std::vector<const KernelInfo*> none;
  const auto found = by_op.find(op);
  return found == by_op.end() ? none : found->second;
}

/// In file order, those for a row of the allow-list among them.
std::vector<const KernelInfo*> kernels_of(const KernelRequest& request) {
  static const auto by_rule = [] {
    std::vector<const KernelInfo*> result;
    for (const KernelInfo& info : kernel_registry()) {
      if (!info.rules.empty()) {
        result.push_back(&info);
      }
    }
    return result;
  }();
  std::vector<const KernelInfo*> result = kernels_of(request.node->op);
  if (!request.rules.empty()) {
    std::copy_if(by_rule.begin(), by_rule.end(), std::back_inserter(result),
                 [&](const KernelInfo* info) {
                   return std::find_first_of(info->rules.begin(), info->rules.end(),
                                             request.rules.begin(),
                                             request.rules.end()) != info->rules.end();
                 });
    std::sort(result.begin(), result.end());  // the registry is one array
  }
  return result;
}

}  // namespace

std::vector<const KernelInfo*> kernels_for(const KernelRequest& request) {
  const auto holds_storage = [](const Operand& operand) {
    return operand && operand.type->quant.has_value();
  };
  const bool states = states_accumulator(request.node->attributes);
  const Numerics wanted = numerics(request.node->attributes);
  const auto follows = [&](const KernelInfo& info) {
    return std::find(info.numerics.begin(), info.numerics.end(), wanted) != info.numerics.end();
  };
  const std::vector<const KernelInfo*> candidates = kernels_of(request);
  std::vector<const KernelInfo*> result;
  for (const bool for_storage : {true, false}) {
    if (for_storage &&
        std::none_of(request.inputs.begin(), request.inputs.end(), holds_storage) &&
        std::none_of(request.outputs.begin(), request.outputs.end(), holds_storage)) {
      continue;
    }
    for (const KernelInfo* info : candidates) {
      if (info->for_storage == for_storage && (info->takes_accumulators || !states) &&
          follows(*info)) {
        result.push_back(info);
      }
    }
  }
  return result;
}

}  // namespace tare
