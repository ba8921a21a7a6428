// Graphs inside of nodes become part of the graph around them: the branch that a known
// condition picks, and the body of a function of the model. Bodies of loops get ready for
// graphs of their own. Everything inside gets a fresh name, so that several calls of one
// function stay apart. Linear in the size of what is copied.
#include "onnx/inlining.h"

#include "tare/error.h"

#include <algorithm>
#include <map>

namespace tare {
namespace {

std::set<std::string> defined_in(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& tensor : graph.initializer()) {
    names.insert(tensor.name());
  }
  for (const auto& input : graph.input()) {
    names.insert(input.name());
  }
  for (const auto& node : graph.node()) {
    names.insert(node.output().begin(), node.output().end());
  }
  return names;
}

void add_captured(const onnx::GraphProto& graph, std::vector<std::string>& result) {
  const std::set<std::string> own = defined_in(graph);
  const auto add = [&](const std::string& name) {
    if (!name.empty() && !own.contains(name)) {
      result.push_back(name);
    }
  };
  for (const auto& node : graph.node()) {
    for (const std::string& name : reads_of(node)) {
      add(name);
    }
  }
  for (const auto& output : graph.output()) {
    add(output.name());
  }
}

using NewNames = std::map<std::string, std::string>;

/// What inner graphs define under one of these names is theirs and keeps it.
void rename_reads(onnx::NodeProto& node, const NewNames& names) {
  const auto rename = [](std::string& name, const NewNames& by) {
    if (const auto found = by.find(name); found != by.end()) {
      name = found->second;
    }
  };
  for (std::string& input : *node.mutable_input()) {
    rename(input, names);
  }
  for (auto& attribute : *node.mutable_attribute()) {
    if (!attribute.has_g()) {
      continue;
    }
    NewNames outer = names;
    for (const std::string& own : defined_in(attribute.g())) {
      outer.erase(own);
    }
    for (auto& inner : *attribute.mutable_g()->mutable_node()) {
      rename_reads(inner, outer);
    }
    for (auto& output : *attribute.mutable_g()->mutable_output()) {
      rename(*output.mutable_name(), outer);
    }
  }
}

/// Gives everything that the part defines a fresh name. `names` has what stands for names from
/// outside, and in the end for all.
void give_fresh_names(onnx::GraphProto& part, NewNames& names, const FreshName& fresh) {
  for (const std::string& name : defined_in(part)) {
    if (!name.empty()) {
      names[name] = fresh(name);
    }
  }
  for (auto& tensor : *part.mutable_initializer()) {
    tensor.set_name(names[tensor.name()]);
  }
  for (auto& input : *part.mutable_input()) {
    input.set_name(names[input.name()]);
  }
  for (auto& node : *part.mutable_node()) {
    rename_reads(node, names);
    for (std::string& output : *node.mutable_output()) {
      output = output.empty() ? "" : names[output];
    }
    if (!node.name().empty()) {
      node.set_name(fresh(node.name()));
    }
  }
}

/// A copy of a value that is made at the end of the part.
std::string copied(onnx::GraphProto& part, const std::string& value, const FreshName& fresh) {
  onnx::NodeProto& copy = *part.add_node();
  copy.set_op_type("Identity");
  copy.set_name(fresh(value));
  copy.add_input(value);
  copy.add_output(fresh(value));
  return copy.output(0);
}

/// The part has these results instead of its own, of which they are copies.
void copy_results(onnx::GraphProto& part, const NewNames& names,
                  const std::vector<std::string>& results, const FreshName& fresh) {
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> outputs;
  outputs.Swap(part.mutable_output());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].empty()) {
      continue;
    }
    const std::string& name = outputs.Get(static_cast<int>(i)).name();
    const auto renamed = names.find(name);
    onnx::NodeProto& copy = *part.add_node();
    copy.set_op_type("Identity");
    copy.set_name(fresh(results[i]));
    copy.add_input(renamed == names.end() ? name : renamed->second);
    copy.add_output(results[i]);
    part.add_output()->set_name(results[i]);
  }
}

/// Attributes that the call is to give, from the call; those that it does not give go.
void set_attributes(onnx::NodeProto& node, const onnx::NodeProto& call) {
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> attributes;
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) {
      for (onnx::NodeProto& inner : *attribute.mutable_g()->mutable_node()) {
        set_attributes(inner, call);
      }
    }
    if (attribute.ref_attr_name().empty()) {
      attributes.Add()->Swap(&attribute);
      continue;
    }
    const auto given = std::find_if(
        call.attribute().begin(), call.attribute().end(),
        [&](const auto& each) { return each.name() == attribute.ref_attr_name(); });
    if (given != call.attribute().end()) {
      onnx::AttributeProto& copy = *attributes.Add();
      copy = *given;
      copy.set_name(attribute.name());
    }
  }
  node.mutable_attribute()->Swap(&attributes);
}

}  // namespace

std::vector<std::string> reads_of(const onnx::NodeProto& node) {
  std::vector<std::string> result(node.input().begin(), node.input().end());
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) {
      add_captured(attribute.g(), result);
    }
  }
  return result;
}

onnx::GraphProto inlined_branch(const onnx::GraphProto& branch,
                                const std::vector<std::string>& results,
                                const FreshName& fresh) {
  if (branch.input_size() != 0 || branch.output_size() != static_cast<int>(results.size())) {
    throw Error(ErrorCode::kInvalidModel, "",
                "a branch has " + std::to_string(branch.input_size()) + " inputs and " +
                    std::to_string(branch.output_size()) + " results")
        .expected("none and " + std::to_string(results.size()));
  }
  onnx::GraphProto part = branch;
  NewNames names;
  give_fresh_names(part, names, fresh);
  copy_results(part, names, results, fresh);
  return part;
}

void rename_graph(onnx::GraphProto& graph, NewNames outside, const FreshName& fresh) {
  give_fresh_names(graph, outside, fresh);
  for (auto& output : *graph.mutable_output()) {
    if (const auto found = outside.find(output.name()); found != outside.end()) {
      output.set_name(found->second);
    }
  }
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) {
        rename_graph(*attribute.mutable_g(), {}, fresh);
      }
    }
  }
}

onnx::GraphProto renamed_body(const onnx::GraphProto& body, const FreshName& fresh) {
  onnx::GraphProto part = body;
  NewNames names;
  give_fresh_names(part, names, fresh);
  // Of an input, of a constant, of what is read from outside, and where one is listed twice.
  std::set<std::string> free;
  for (const auto& node : part.node()) {
    free.insert(node.output().begin(), node.output().end());
  }
  for (auto& output : *part.mutable_output()) {
    const auto renamed = names.find(output.name());
    const std::string result = renamed == names.end() ? output.name() : renamed->second;
    output.set_name(free.erase(result) > 0 ? result : copied(part, result, fresh));
  }
  return part;
}

onnx::GraphProto inlined_call(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                              const FreshName& fresh) {
  if (call.input_size() > function.input_size() ||
      call.output_size() > function.output_size()) {
    throw Error(ErrorCode::kInvalidModel, "",
                "has " + std::to_string(call.input_size()) + " operands and " +
                    std::to_string(call.output_size()) + " results")
        .expected("at most " + std::to_string(function.input_size()) + " and " +
                  std::to_string(function.output_size()) + " as its function");
  }
  onnx::GraphProto part;
  *part.mutable_node() = function.node();
  for (onnx::NodeProto& node : *part.mutable_node()) {
    set_attributes(node, call);
  }
  NewNames operands;
  for (int i = 0; i < function.input_size(); ++i) {
    operands.emplace(function.input(i), i < call.input_size() ? call.input(i) : std::string());
  }
  for (int i = 0; i < call.output_size(); ++i) {
    part.add_output()->set_name(function.output(i));
  }
  give_fresh_names(part, operands, fresh);
  copy_results(part, operands, {call.output().begin(), call.output().end()}, fresh);
  return part;
}

void for_each_graph(const onnx::GraphProto& graph,
                    const std::function<void(const onnx::GraphProto&)>& f) {
  f(graph);
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        for_each_graph(attribute.g(), f);
      }
    }
  }
}

}  // namespace tare
