#include "tare/error.h"

#include "base/input_file.h"
#include "graph/arithmetic/packed.h"
#include "onnx/builder.h"
#include "onnx/constants.h"
#include "onnx/infer.h"
#include "onnx/inlining.h"
#include "onnx/interface.h"
#include "onnx/node_proto.h"
#include "onnx/normalize.h"
#include "onnx/normalize_quantized.h"
#include "onnx/parse_model.h"
#include "onnx/source.h"
#include "onnx/tensor_proto.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace tare {
namespace {

constexpr int kOldestOpset = 6;
constexpr int kNewestOpset = 25;
/// Those after it added types that are refused as such, and operators and attributes for which
/// there are rules; engines fuse more of this one.
constexpr int kNewestForm = 21;

int checked_opset(std::int64_t opset) {
  if (opset < kOldestOpset || opset > kNewestOpset) {
    throw Error(ErrorCode::kUnsupported, "", "the model is of opset " + std::to_string(opset))
        .expected("opset " + std::to_string(kOldestOpset) + " to " +
                  std::to_string(kNewestOpset));
  }
  return static_cast<int>(std::min<std::int64_t>(opset, kNewestForm));
}

int checked_opset(const onnx::ModelProto& model) {
  std::optional<std::int64_t> opset;
  for (const auto& entry : model.opset_import()) {
    if (in_default_domain(entry.domain())) {
      if (opset && *opset != entry.version()) {
        throw Error(ErrorCode::kInvalidModel, "", "the model names two opsets");
      }
      opset = entry.version();
    }
  }
  if (!opset) {
    throw Error(ErrorCode::kInvalidModel, "", "the model does not name its opset");
  }
  return checked_opset(*opset);
}

/// Learned models of other kinds are stored in this format too.
void require_network(const onnx::ModelProto& model) {
  for (const onnx::NodeProto& node : model.graph().node()) {
    const bool is_trees = node.op_type().starts_with("TreeEnsemble");
    if (node.domain() == "ai.onnx.ml" && (is_trees || node.op_type().starts_with("SVM"))) {
      throw Error(ErrorCode::kUnsupported, place_of(node),
                  std::string("this is no neural network but ") +
                      (is_trees ? "decision trees" : "a support vector machine"));
    }
  }
}

/// What is not supported, each thing once with the number of nodes it was met at.
class Unsupported {
 public:
  void add(const std::string& what, const std::string& node) {
    const auto same = std::find_if(met_.begin(), met_.end(),
                                   [&](const Met& met) { return met.what == what; });
    if (same == met_.end()) {
      met_.push_back({what, node, 1});
    } else {
      ++same->nodes;
    }
  }

  void report(Faults& faults) const {
    for (const Met& met : met_) {
      const std::string first = "'" + met.first_node + "'";
      faults.add("", met.what + (met.nodes == 1 ? " (node " + first + ")"
                                                : " (" + std::to_string(met.nodes) +
                                                      " nodes, first " + first + ")"));
    }
  }

 private:
  struct Met {
    std::string what;
    std::string first_node;
    int nodes = 0;
  };
  std::vector<Met> met_;
};

class Importer {
 public:
  Importer(const onnx::ModelProto& model, std::filesystem::path folder,
           const ReadOptions& options)
      : model_(model),
        folder_(std::move(folder)),
        options_(options),
        opset_(checked_opset(model)),
        source_(model.graph()),
        builder_(options, source_.names) {
    for (const onnx::FunctionProto& function : model.functions()) {
      functions_.emplace(key_of(function.domain(), function.name()), &function);
    }
  }

  Graph run() {
    Graph& graph = builder_.graph();
    graph.graph_name = model_.graph().name();
    graph.opset = opset_;
    if (model_.graph().sparse_initializer_size() > 0) {
      faults_.add("", "sparse initializers are not supported");
    }
    add_inputs();
    for (const onnx::NodeProto* node : source_.nodes) {
      add_node(*node);
    }
    set_outputs();
    unsupported_.report(faults_);
    faults_.raise(ErrorCode::kUnsupported);
    graph.erase_unused_constants();  // normalizing made attributes of some
    return std::move(graph);
  }

 private:
  void add_inputs() {
    Interface interface =
        read_interface(model_.graph(), source_.initializers, options_, faults_);
    for (auto& [name, type] : interface.inputs) {
      builder_.graph().add_input(name, std::move(type));
    }
    builder_.graph().dimension_names = std::move(interface.dimension_names);
  }

  void add_node(const onnx::NodeProto& node) {
    const std::string& name = source_.node_names.at(&node);
    try {
      if (const auto function = functions_.find(key_of(node.domain(), node.op_type()));
          function != functions_.end()) {
        add_call(node, *function->second);
        return;
      }
      const bool is_onnx = in_default_domain(node.domain());
      const bool is_quantized =
          is_quantized_operator(is_onnx ? std::string() : node.domain(), node.op_type());
      if (!is_onnx && !is_quantized) {
        throw unsupported_operator(node);
      }
      std::optional<std::vector<ValueId>> inputs = operands_of(node);
      if (is_onnx && node.op_type() == "If") {
        if (inputs) {
          add_branch(node, *inputs);
        }
        return;
      }
      if (!inputs) {
        // An operand has no type. Say what else is wrong with this node, then leave it out.
        if (!is_quantized && !replaces_operator(node.op_type(), opset_) &&
            !builder_.supports(node.op_type())) {
          throw unsupported_operator(node);
        }
        return;
      }
      if (node.op_type() == "QuantizeLinear" && inputs->size() > 2 && inputs->back() &&
          is_packed(builder_.type(inputs->back()))) {
        throw Error(ErrorCode::kUnsupported, "", "quantizes to integers of 4 bits");
      }
      Draft draft{name, node.op_type(), *std::move(inputs), results_of(node),
                  to_attributes(node, folder_)};
      draft.drop_trailing_absent_inputs();
      builder_.begin({draft.name, draft.op});
      if (is_quantized) {
        normalize_quantized(draft, builder_);
      } else {
        normalize(draft, opset_, builder_);
      }
      builder_.emit(std::move(draft));
    } catch (Error& error) {
      if (error.code() != ErrorCode::kUnsupported) {
        error.at(place_of(node));
        throw;
      }
      const std::string what = error.faults().front().what;
      unsupported_.add(
          what.starts_with("operator '") ? what : operator_name(node) + ": " + what, name);
    }
  }

  /// The branch that the condition picks, in place of an If.
  void add_branch(const onnx::NodeProto& node, const std::vector<ValueId>& inputs) {
    const Tensor* condition =
        inputs.size() == 1 && inputs[0] ? builder_.known(inputs[0]) : nullptr;
    if (condition == nullptr || condition->size() != 1) {
      throw Error(ErrorCode::kUnsupported, "", "its condition depends on data");
    }
    const char* wanted = condition->to_int64()[0] != 0 ? "then_branch" : "else_branch";
    const auto branch =
        std::find_if(node.attribute().begin(), node.attribute().end(),
                     [&](const auto& each) { return each.name() == wanted && each.has_g(); });
    if (branch == node.attribute().end()) {
      throw Error(ErrorCode::kInvalidModel, "", "has no " + std::string(wanted));
    }
    add_part(inlined_branch(branch->g(), {node.output().begin(), node.output().end()},
                            fresh_names(node)));
  }

  /// What a function of the model computes, in place of its call.
  void add_call(const onnx::NodeProto& node, const onnx::FunctionProto& function) {
    if (!open_functions_.insert(&function).second) {
      throw Error(ErrorCode::kInvalidModel, "", "its function calls itself");
    }
    const int opset = opset_;
    for (const auto& entry : function.opset_import()) {
      opset_ = in_default_domain(entry.domain()) ? checked_opset(entry.version()) : opset_;
    }
    add_part(inlined_call(function, node, fresh_names(node)));
    opset_ = opset;
    open_functions_.erase(&function);
  }

  /// Names inside of a node are unique after the node's, nearly always at once.
  FreshName fresh_names(const onnx::NodeProto& node) {
    return [this, prefix = source_.node_names.at(&node) + "/"](const std::string& name) {
      return builder_.fresh_name(prefix + name);
    };
  }

  void add_part(onnx::GraphProto proto) {
    // Functions of functions may stand for more nodes than any memory holds.
    constexpr std::size_t kMostNodes = 200'000;
    inlined_nodes_ += static_cast<std::size_t>(proto.node_size());
    if (inlined_nodes_ > kMostNodes) {
      throw Error(
          ErrorCode::kInvalidModel, "",
          "functions and branches come to more than " + std::to_string(kMostNodes) + " nodes");
    }
    if (proto.sparse_initializer_size() > 0) {
      throw Error(ErrorCode::kUnsupported, "", "sparse initializers are not supported");
    }
    parts_.push_back(std::move(proto));
    Source part(parts_.back(), source_.names);
    source_.constants.merge(part.constants);
    source_.names.merge(part.names);
    source_.read.merge(part.read);
    source_.node_names.merge(part.node_names);
    for (const onnx::NodeProto* each : part.nodes) {
      add_node(*each);
    }
  }

  using FunctionKey = std::pair<std::string, std::string>;
  static FunctionKey key_of(const std::string& domain, const std::string& name) {
    return {in_default_domain(domain) ? std::string() : domain, name};
  }

  static Error unsupported_operator(const onnx::NodeProto& node) {
    return {ErrorCode::kUnsupported, "",
            "operator '" + operator_name(node) + "' is not supported"};
  }

  /// Nothing when an operand stems from a node that was left out.
  std::optional<std::vector<ValueId>> operands_of(const onnx::NodeProto& node) {
    std::vector<ValueId> result;
    for (const std::string& name : node.input()) {
      const auto id = name.empty() ? std::optional(ValueId{}) : value_of(name);
      if (!id) {
        return std::nullopt;
      }
      result.push_back(*id);
    }
    return result;
  }

  /// Constants enter the graph when they are first read.
  std::optional<ValueId> value_of(const std::string& name) {
    if (const auto id = builder_.graph().find_value(name)) {
      return id;
    }
    const auto found = source_.constants.find(name);
    if (found == source_.constants.end() || broken_constants_.contains(name)) {
      return std::nullopt;
    }
    try {
      Tensor tensor = to_constant(found->second);
      TensorType type{
          .dtype = tensor.dtype(), .shape = tensor.shape(), .quant = {}, .point = {}};
      if (stores_packed(found->second)) {
        type.quant = packed_params(tensor.dtype());
      }
      return builder_.graph().add_constant(name, std::move(tensor), std::move(type));
    } catch (Error& error) {
      error.at("constant '" + name + "'");
      if (error.code() != ErrorCode::kUnsupported) {
        throw;
      }
      broken_constants_.insert(name);
      faults_.add(error.faults().front().where, error.faults().front().what);
      return std::nullopt;
    }
  }

  static bool stores_packed(const ConstantSource& source) {
    const onnx::TensorProto& proto =
        source.tensor != nullptr ? *source.tensor : source.attribute->t();
    return dtype_of_packed(proto.data_type()).has_value();
  }

  Tensor to_constant(const ConstantSource& source) const {
    if (source.tensor != nullptr) {
      return to_tensor(*source.tensor, folder_);
    }
    const Attribute value = to_attribute(*source.attribute, folder_);
    if (const auto* tensor = std::get_if<Tensor>(&value)) {
      return *tensor;
    }
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      return Tensor::scalar(*integer);
    }
    if (const auto* real = std::get_if<float>(&value)) {
      return Tensor::scalar(*real);
    }
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
      return vector_of(*integers);
    }
    if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
      return vector_of(*reals);
    }
    throw Error(ErrorCode::kUnsupported, "", "element type STRING is not supported");
  }

  /// Optional results that nobody reads are left out at the end of the list.
  std::vector<std::string> results_of(const onnx::NodeProto& node) const {
    std::vector<std::string> result(node.output().begin(), node.output().end());
    const std::size_t required = std::max<std::size_t>(required_results(node.op_type()), 1);
    while (result.size() > required && !source_.read.contains(result.back())) {
      result.pop_back();
    }
    return result;
  }

  void set_outputs() {
    Graph& graph = builder_.graph();
    std::vector<ValueId> outputs;
    for (const auto& info : model_.graph().output()) {
      const auto id = value_of(info.name());
      if (!id) {
        continue;  // its producer is among the faults
      }
      outputs.push_back(*id);
      // A model may say that an output has another rank than it has.
      const auto names = graph.dimension_names.find(info.name());
      if (names != graph.dimension_names.end() &&
          names->second.size() != graph.type(*id).shape.size()) {
        graph.dimension_names.erase(names);
      }
      const bool open =
          !info.type().tensor_type().has_shape() && !graph.dimension_names.empty();
      if (open) {
        name_dimensions(info.name(), graph.type(*id).shape.size());
      }
    }
    graph.set_outputs(std::move(outputs));
  }

  /// The model leaves this shape open and its inputs are dynamic, so each extent may be.
  void name_dimensions(const std::string& name, std::size_t rank) {
    std::vector<std::string> names;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      names.push_back(dimension_symbol(name, axis));
    }
    builder_.graph().dimension_names.emplace(name, std::move(names));
  }

  const onnx::ModelProto& model_;
  std::filesystem::path folder_;
  const ReadOptions& options_;
  int opset_;
  Source source_;
  GraphBuilder builder_;
  std::deque<onnx::GraphProto> parts_;  ///< that were inlined
  std::size_t inlined_nodes_ = 0;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;  ///< of the model
  std::set<const onnx::FunctionProto*> open_functions_;          ///< those being inlined
  std::set<std::string> broken_constants_;
  Unsupported unsupported_;
  Faults faults_;
};

}  // namespace

Graph read_onnx(const std::filesystem::path& path, const ReadOptions& options) {
  const InputFile file(path);
  try {
    const onnx::ModelProto model = parse_model(file);
    require_network(model);
    return Importer(model, path.parent_path(), options).run();
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

}  // namespace tare
