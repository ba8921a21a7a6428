#include "execute/request_facts.h"

#include <algorithm>

namespace tare {

std::string types_of(const KernelRequest& request) {
  std::string text;
  for (const Operand& input : request.inputs) {
    text += text.empty() ? "" : ", ";
    text += input ? std::string(name_of(input.dtype())) + to_string(input.shape()) : "absent";
  }
  return "(" + text + ")";
}

bool has_results(const KernelRequest& request) {
  return std::any_of(request.outputs.begin(), request.outputs.end(), [](const Operand& output) {
    return output && element_count(output.shape()) > 0;
  });
}

double result_bytes(const KernelRequest& request) {
  double bytes = 0;
  for (const Operand& output : request.outputs) {
    bytes += output ? static_cast<double>(element_count(output.shape())) *
                          static_cast<double>(size_of(output.dtype()))
                    : 0;
  }
  return bytes;
}

}  // namespace tare
