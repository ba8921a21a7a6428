// Runs the tail of a graph. Reading a model follows all values that are known, and of a model
// whose inputs are known that is all of it, shapes that depend on data included.
#include "onnx/export/raise_forms.h"
#include "onnx/importer.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

constexpr int kOldestOfTails = 13;
constexpr int kNewestOfTails = 21;

onnx::ModelProto model_of(const Tail& tail) {
  int opset = kOldestOfTails;
  for (const int of_node : tail.opsets) {
    opset = std::max(opset, std::min(of_node, kNewestOfTails));
  }
  onnx::ModelProto model;
  onnx::GraphProto& graph = *model.mutable_graph();
  graph = raised_tail(tail, opset);
  for (const std::string& name : tail.inputs) {
    graph.add_input()->set_name(name);
  }
  auto& entry = *model.add_opset_import();
  entry.set_version(opset);
  for (const auto& [domain, version] : tail.domains) {
    auto& other = *model.add_opset_import();
    other.set_domain(domain);
    other.set_version(version);
  }
  return model;
}

}  // namespace

struct TailRunner::Impl {
  onnx::ModelProto model;
};

TailRunner::TailRunner(const Tail& tail)
    : impl_(std::make_unique<const Impl>(Impl{model_of(tail)})) {}

TailRunner::~TailRunner() = default;
TailRunner::TailRunner(TailRunner&&) noexcept = default;

std::map<std::string, Tensor> TailRunner::run(const std::map<std::string, Tensor>& values,
                                              const Evaluator& evaluate) const {
  ReadOptions options;
  options.evaluate = evaluate;
  return Importer(impl_->model, {}, options).run_on(values);
}

}  // namespace tare
