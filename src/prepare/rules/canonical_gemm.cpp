// Gemm(a, w, c) {transA, alpha, beta} -> Gemm(a, alpha * w, beta * c) with a bias of rank 1
//
// What comes after sees one form: alpha = beta = 1, transA = 0, one bias for each column.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/constants.h"

namespace tare {
namespace {

class Gemm {
 public:
  Gemm(const Graph& graph, const Node& node)
      : graph_(graph),
        node_(node),
        patch_(graph),
        inputs_(node.inputs),
        attributes_(node.attributes) {}

  std::variant<Patch, Refusal> canonical() {
    inputs_.resize(3);
    std::string refusal = fold_alpha();
    if (refusal.empty()) {
      refusal = fold_bias();
    }
    if (!refusal.empty()) {
      return Refusal{std::move(refusal)};
    }
    transpose();
    if (!changed_) {
      return Refusal{"it is canonical already"};
    }
    if (!inputs_[2]) {
      inputs_.pop_back();
    }
    for (const char* name : {"alpha", "beta", "transA"}) {
      attributes_.erase(name);
    }
    patch_.replace_node(node_, "Gemm", inputs_, attributes_);
    return std::move(patch_);
  }

 private:
  /// Each returns why it cannot be done, or nothing.
  std::string fold_alpha() {
    const float alpha = attributes_.real("alpha", 1.0F);
    if (alpha == 1.0F) {
      return {};
    }
    changed_ = true;
    return scale(1, alpha, graph_.type(inputs_[1]).shape);
  }

  std::string fold_bias() {
    const float beta = attributes_.real("beta", 1.0F);
    if (!inputs_[2]) {
      changed_ = changed_ || beta != 1.0F;
      return {};
    }
    if (beta == 0.0F) {
      inputs_[2] = ValueId{};
      changed_ = true;
      return {};
    }
    const Shape& result = graph_.type(node_.outputs[0]).shape;
    const auto columns = per_channel(graph_, inputs_[2], result, 1);
    const Shape wanted{result[1]};
    const bool reshapes = columns && graph_.type(inputs_[2]).shape != wanted;
    if (beta == 1.0F && !reshapes) {
      return {};
    }
    changed_ = true;
    if (!columns) {
      return scale(2, beta, graph_.type(inputs_[2]).shape);
    }
    std::vector<double> values = *columns;
    for (double& value : values) {
      value *= beta;
    }
    return store(2, wanted, values);
  }

  void transpose() {
    if (attributes_.integer("transA", 0) == 0) {
      return;
    }
    const TensorType& type = graph_.type(inputs_[0]);
    TensorType turned = type;
    turned.shape = {type.shape[1], type.shape[0]};
    inputs_[0] = patch_.add("Transpose", {inputs_[0]}, turned, node_.name + "/transpose",
                            {{"perm", std::vector<std::int64_t>{1, 0}}});
    changed_ = true;
  }

  std::string scale(std::size_t operand, float factor, const Shape& shape) {
    const Tensor* tensor = graph_.constant(inputs_[operand]);
    if (tensor == nullptr || tensor->dtype() != DType::kFloat32) {
      return "operand " + std::to_string(operand) + " is scaled and is not a float32 constant";
    }
    std::vector<double> values = tensor->to_double();
    for (double& value : values) {
      value *= factor;
    }
    return store(operand, shape, values);
  }

  std::string store(std::size_t operand, const Shape& shape,
                    const std::vector<double>& values) {
    const auto tensor = rounded(shape, values);
    if (!tensor) {
      return "the folded constant is not finite";
    }
    inputs_[operand] = patch_.add_constant(graph_.name(inputs_[operand]), *tensor);
    return {};
  }

  const Graph& graph_;
  const Node& node_;
  Patch patch_;
  std::vector<ValueId> inputs_;
  Attributes attributes_;
  bool changed_ = false;
};

}  // namespace
}  // namespace tare

TARE_RULE(canonical_gemm) {
  using namespace tare;
  return {.name = "canonical_gemm",
          .summary = "folds the factors of a Gemm into its constants",
          .benefit = 90,
          .pattern = [] { return op("Gemm"); },
          .rewrite =
              [](const Graph& graph, const Match& match) {
                return Gemm(graph, graph.node(match.root())).canonical();
              }};
}
