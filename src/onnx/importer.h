#pragma once

#include "tare/error.h"
#include "tare/graph.h"

#include "onnx/builder.h"
#include "onnx/inlining.h"
#include "onnx/source.h"
#include "onnx/unsupported.h"

#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

namespace tare {

/// The opset of a model. Throws Error(kInvalidModel) where it names none or two, and as
/// checked_opset().
int declared_opset(const onnx::ModelProto&);
/// An opset, as far as forms of operators are concerned. Throws Error(kUnsupported) for one
/// that is too old or too new.
int checked_opset(std::int64_t opset);

/// Makes a graph of one model.
class Importer {
 public:
  Importer(const onnx::ModelProto&, std::filesystem::path folder, const ReadOptions&);
  Graph run();
  /// The outputs that follow from these values of the inputs, by name, where operators and
  /// their order may depend on them.
  std::map<std::string, Tensor> run_on(const std::map<std::string, Tensor>& values);

 private:
  using FunctionKey = std::pair<std::string, std::string>;
  static FunctionKey key_of(const std::string& domain, const std::string& name);

  /// A graph that grows: that of the model, or one inside of a node.
  struct Scope {
    GraphBuilder builder;
    std::vector<std::string> captured;  ///< inputs that stand for values around the graph
    /// What a sequence holds, by its name: no part of the graph, as their lengths are known.
    std::map<std::string, std::vector<ValueId>> sequences{};
    std::set<std::string> absent{};  ///< optional values that are none
  };
  struct InnerGraph {
    Graph graph;
    std::vector<std::string> captured;  ///< as in Scope
    std::vector<TensorType> results;
  };

  /// A node that was looked at.
  struct SeenNode {
    const onnx::NodeProto* proto = nullptr;
    int opset = 0;
    bool is_left = false;  ///< the graph cannot hold it, or an operand of it
    std::string reason{};  ///< why; empty where only an operand is missing
    bool depends_on_data = false;
    bool is_sequence = false;  ///< its results are there, but are no tensors
  };

  GraphBuilder& builder() { return scopes_.back().builder; }

  void add_inputs();
  void set_outputs();
  /// The model leaves this shape open and its inputs are dynamic, so each extent may be.
  void name_dimensions(const std::string& name, std::size_t rank);

  void add_node(const onnx::NodeProto&);
  void import_node(const onnx::NodeProto&);
  /// What a function of the model computes, in place of its call.
  void add_call(const onnx::NodeProto&, const onnx::FunctionProto&);
  /// The nodes of a graph whose names are unique in the model, producers first.
  std::vector<const onnx::NodeProto*> take_part(onnx::GraphProto);
  /// The same, in the graph that grows.
  void add_part(onnx::GraphProto);
  FreshName fresh_names(const onnx::NodeProto&);

  // import_sequences.cpp
  /// Operators that make or read sequences and optional values; false for others.
  bool add_sequence(const onnx::NodeProto&);
  bool split_to_sequence(const onnx::NodeProto&);
  void map_sequence(const onnx::NodeProto&);
  void define_sequence(const onnx::NodeProto&, const std::string& result,
                       std::vector<ValueId> values);
  const std::vector<ValueId>* sequence_of(const std::string& name);
  /// Of a sequence of that length; from its end where it is negative.
  std::size_t position_in(const onnx::NodeProto&, int operand, std::size_t length,
                          std::size_t fallback);
  void copy_value(const onnx::NodeProto&, ValueId from, const std::string& to);

  // unroll.cpp
  /// The iterations of a loop one after another, as parts of the graph that grows. Throws
  /// DependsOnData where it is not known when they end.
  void unroll(const onnx::NodeProto&);
  /// A graph of a node with values of these names for its inputs; returns those of its results.
  /// Names in it end in `suffix`.
  std::vector<std::string> add_body(const onnx::NodeProto&, const onnx::GraphProto& body,
                                    const std::vector<std::string>& operands,
                                    const std::string& suffix);
  const Tensor& decisive_value(const std::string& name);

  // leave_to_tail.cpp
  /// Notes a node whose results are not in the graph, and why.
  void leave(const onnx::NodeProto&, std::string reason, bool depends_on_data);
  bool has_result(const onnx::NodeProto&);
  /// Those that were left and outputs of the model need, producers first, and before them what
  /// only these read and may move.
  std::vector<SeenNode> nodes_of_tail();
  /// Whether a node of the graph may be in the tail, with those of `moved`: its results follow
  /// from shapes, or they are no real values, of whose errors no figure tells much.
  bool may_move(const onnx::NodeProto&, const std::set<NodeId>& moved);
  /// What calibration would need the values of, behind what cannot be computed at all; or there
  /// is nothing to be quantized before it.
  bool must_refuse(const std::vector<SeenNode>&);
  bool is_layer(const onnx::NodeProto&);
  /// Makes a tail of the nodes, if there are any, or refuses them.
  void add_tail();
  void add_to_tail(const std::string& read, Tail&, onnx::GraphProto& nodes);

  // import_inner_graphs.cpp
  /// If, Loop or Scan.
  void add_control(const onnx::NodeProto&, const std::vector<ValueId>& inputs);
  void add_if(const onnx::NodeProto&, const std::vector<ValueId>& inputs);
  void add_loop(const onnx::NodeProto&, const std::vector<ValueId>& inputs);
  void add_scan(const onnx::NodeProto&, const std::vector<ValueId>& inputs);
  /// The form of opset 8, which scans each sample of a batch.
  void add_scan_of_batch(const onnx::NodeProto&, const std::vector<ValueId>& inputs);
  /// `inputs` are the types of what the operator hands to the graph. Nothing where something in
  /// it is not supported.
  std::optional<InnerGraph> import_inner(const onnx::NodeProto&, const std::string& attribute,
                                         const std::vector<TensorType>& inputs);
  void emit_control(const onnx::NodeProto&, std::vector<ValueId> inputs,
                    const std::vector<InnerGraph>&, std::vector<TensorType> results,
                    Attributes);

  /// Nothing when an operand stems from a node that was left out.
  std::optional<std::vector<ValueId>> operands_of(const onnx::NodeProto&);
  /// In the graph that grows. Constants enter the model's graph when they are first read, and
  /// what is around a graph becomes an input of it.
  std::optional<ValueId> value_of(const std::string& name) {
    return value_in(scopes_.size() - 1, name);
  }
  std::optional<ValueId> value_in(std::size_t level, const std::string& name);
  std::optional<ValueId> model_constant(const std::string& name);
  Tensor to_constant(const ConstantSource&) const;
  /// Optional results that nobody reads are left out at the end of the list.
  void add_detection(const onnx::NodeProto&);
  void add_region(const onnx::NodeProto&);
  std::vector<std::string> results_of(const onnx::NodeProto&) const;

  const onnx::ModelProto& model_;
  std::filesystem::path folder_;
  const ReadOptions& options_;
  int file_opset_;  ///< of the nodes at hand
  int opset_;       ///< the same, as far as there are forms
  Source source_;
  std::set<std::string> reserved_;      ///< names that generated ones keep clear of
  std::deque<Scope> scopes_;            ///< from the model's graph inwards
  std::int64_t unrolled_nodes_ = 0;     ///< that iterations of loops made
  bool runs_ = false;                   ///< all values are known
  std::map<ValueId, Tensor> assumed_;   ///< inputs that have one value
  std::deque<onnx::GraphProto> parts_;  ///< that were inlined, or are graphs of nodes
  std::size_t part_nodes_ = 0;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;  ///< of the model
  std::set<const onnx::FunctionProto*> open_functions_;          ///< those being inlined
  std::map<std::string, Fault> broken_constants_;
  std::vector<SeenNode> seen_;         ///< in the model's graph, producers first
  std::set<std::string> left_values_;  ///< what the nodes left compute
  SeenNode inside_;                    ///< the first in graphs of the node at hand
  Unsupported unsupported_;
  Faults faults_;
};

}  // namespace tare
