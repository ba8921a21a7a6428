// Operators of a tail in the form of a newer opset. normalize.cpp does the same for graphs,
// where types and shapes are known; here a form may only depend on the node itself. Linear in
// the number of nodes.
#include "onnx/export/raise_forms.h"

#include "tare/error.h"

#include "onnx/constants.h"
#include "onnx/names.h"
#include "onnx/normalize/moved_attributes.h"
#include "onnx/source.h"
#include "onnx/tensor_proto.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

constexpr int kScatterHasAxis = 11;
constexpr int kResizeOfUpsample = 10;
constexpr int kResizeHasRegions = 11;
constexpr int kSoftmaxOfOneAxis = 13;
constexpr int kAxesAreInputs = 18;
constexpr int kModesRenamed = 20;

bool is_reduction(const std::string& op) {
  return op.starts_with("Reduce") && op != "ReduceSum";
}

class Raising {
 public:
  Raising(const onnx::GraphProto& graph, int to) : to_(to) { reserve(graph); }

  void raise(Nodes& nodes, const std::vector<int>& from) {
    Nodes raised;
    for (int i = 0; i < nodes.size(); ++i) {
      raise(nodes.Get(i), from[static_cast<std::size_t>(i)], raised);
    }
    nodes.Swap(&raised);
  }

 private:
  void reserve(const onnx::GraphProto& graph) {
    for (const auto& node : graph.node()) {
      names_.insert(node.output().begin(), node.output().end());
      names_.insert(node.input().begin(), node.input().end());
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) {
          reserve(attribute.g());
        }
      }
    }
  }

  void raise(onnx::NodeProto node, int from, Nodes& to) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) {
        Nodes& inner = *attribute.mutable_g()->mutable_node();
        raise(inner, std::vector<int>(static_cast<std::size_t>(inner.size()), from));
      }
    }
    if (from >= to_ || !in_default_domain(node.domain())) {
      *to.Add() = std::move(node);
      return;
    }
    const std::string op = node.op_type();
    if (node.input_size() == 1) {
      for (const MovedAttributes& moved : kMovedAttributes) {
        if (moved.op == op && from <= moved.last_opset && to_ > moved.last_opset) {
          move(node, {moved.names.begin(), moved.names.end()}, to);
        }
      }
      if (is_reduction(op) && from < kAxesAreInputs && to_ >= kAxesAreInputs) {
        move(node, {"axes"}, to);
      }
      if (op == "Split" && node.input_size() == 1 && to_ >= kAxesAreInputs) {
        set_integer(node, "num_outputs", node.output_size());
      }
    }
    if (op == "Scatter" && to_ >= kScatterHasAxis) {
      node.set_op_type("ScatterElements");
    } else if ((op == "Upsample" && to_ >= kResizeOfUpsample) ||
               (op == "Resize" && from < kResizeHasRegions && to_ >= kResizeHasRegions)) {
      to_resize(node);
    } else if (op == "GridSample" && from < kModesRenamed && to_ >= kModesRenamed) {
      rename_mode(node);
    } else if ((op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") &&
               from < kSoftmaxOfOneAxis && to_ >= kSoftmaxOfOneAxis && node.input_size() == 1) {
      flatten(std::move(node), to);
      return;
    } else if (op == "GroupNormalization" || (op == "Scan" && from < 9)) {
      throw Error(ErrorCode::kUnsupported, place_of(node),
                  "is of opset " + std::to_string(from) +
                      " and stands where nothing is known "
                      "of its operands, so it cannot be written in opset " +
                      std::to_string(to_));
    }
    drop(node, "is_test");
    drop(node, "broadcast");
    drop(node, "spatial");
    *to.Add() = std::move(node);
  }

  std::string constant(const std::string& wanted, const Tensor& tensor, Nodes& to) {
    onnx::NodeProto& node = *to.Add();
    node.set_op_type("Constant");
    onnx::AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    fill_proto(tensor, *value.mutable_t());
    return *node.add_output() = take_name(names_, wanted);
  }

  static std::optional<Tensor> taken(onnx::NodeProto& node, const std::string& name) {
    for (int i = 0; i < node.attribute_size(); ++i) {
      const onnx::AttributeProto& attribute = node.attribute(i);
      if (attribute.name() != name) {
        continue;
      }
      Tensor tensor = Tensor::scalar(attribute.f());
      if (attribute.type() == onnx::AttributeProto::INT) {
        tensor = vector_of(std::vector<std::int64_t>{attribute.i()});
      } else if (attribute.ints_size() > 0 || attribute.type() == onnx::AttributeProto::INTS) {
        tensor = vector_of(
            std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end()));
      } else if (attribute.type() == onnx::AttributeProto::FLOATS) {
        tensor =
            vector_of(std::vector<float>(attribute.floats().begin(), attribute.floats().end()));
      }
      node.mutable_attribute()->DeleteSubrange(i, 1);
      return tensor;
    }
    return std::nullopt;
  }

  /// Attributes become operands 1, 2, ...
  void move(onnx::NodeProto& node, const std::vector<const char*>& attributes, Nodes& to) {
    const std::string own = node.output(0);
    for (std::size_t i = 0; i < attributes.size(); ++i) {
      if (attributes[i] == nullptr) {
        continue;
      }
      if (const auto tensor = taken(node, attributes[i])) {
        while (node.input_size() <= static_cast<int>(i)) {
          node.add_input("");
        }
        node.add_input(constant(own + "_" + attributes[i], *tensor, to));
      }
    }
  }

  static void to_resize(onnx::NodeProto& node) {
    node.set_op_type("Resize");
    if (node.input_size() == 2) {
      const std::string scales = node.input(1);
      node.set_input(1, "");
      node.add_input(scales);
    }
    set_text(node, "coordinate_transformation_mode", "asymmetric");
    set_text(node, "nearest_mode", "floor");
  }

  static void rename_mode(onnx::NodeProto& node) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.name() == "mode") {
        attribute.set_s(attribute.s() == "bilinear"  ? "linear"
                        : attribute.s() == "bicubic" ? "cubic"
                                                     : attribute.s());
      }
    }
  }

  /// Up to opset 12 everything from `axis` on was one axis.
  void flatten(onnx::NodeProto node, Nodes& to) {
    std::int64_t axis = 1;
    if (const auto own = taken(node, "axis")) {
      axis = own->to_int64()[0];
    }
    const std::string operand = node.input(0);
    const std::string result = node.output(0);
    const auto add = [&](const char* op, const std::vector<std::string>& inputs,
                         const std::string& output) -> onnx::NodeProto& {
      onnx::NodeProto& added = *to.Add();
      added.set_op_type(op);
      added.mutable_input()->Add(inputs.begin(), inputs.end());
      added.add_output(output);
      return added;
    };
    const std::string shape = take_name(names_, result + "_shape");
    const std::string flat = take_name(names_, result + "_flat");
    const std::string scores = take_name(names_, result + "_scores");
    add("Shape", {operand}, shape);
    set_integer(add("Flatten", {operand}, flat), "axis", axis);
    node.set_input(0, flat);
    node.set_output(0, scores);
    set_integer(node, "axis", -1);
    *to.Add() = std::move(node);
    add("Reshape", {scores, shape}, result);
  }

  static void drop(onnx::NodeProto& node, const std::string& name) { (void)taken(node, name); }

  static onnx::AttributeProto& added(onnx::NodeProto& node, const char* name,
                                     onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }

  static void set_integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
    added(node, name, onnx::AttributeProto::INT).set_i(value);
  }

  static void set_text(onnx::NodeProto& node, const char* name, const char* value) {
    added(node, name, onnx::AttributeProto::STRING).set_s(value);
  }

  int to_;
  std::set<std::string> names_;
};

}  // namespace

onnx::GraphProto raised_tail(const Tail& tail, int opset) {
  onnx::GraphProto graph;
  if (!graph.ParseFromString(tail.nodes) ||
      static_cast<std::size_t>(graph.node_size()) != tail.opsets.size()) {
    throw Error(ErrorCode::kInternal, "", "the tail of a graph is damaged");
  }
  Raising(graph, opset).raise(*graph.mutable_node(), tail.opsets);
  return graph;
}

}  // namespace tare
