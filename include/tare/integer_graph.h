#pragma once

#include "tare/arithmetic.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/node.h"
#include "tare/pattern.h"
#include "tare/process.h"
#include "tare/quant_table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

class Communicator;
struct SimulatedGraph;

// The canonical integer graph, which quantize() and lower_quantized() give: its arithmetic, its
// forms in ONNX, what its sums need, and its regions for devices.

/// What lowering does, step by step.
enum class LoweringStage : std::uint8_t {
  kAffine,    ///< each region has its integer form, between a Quantize for each operand and a
              ///< Dequantize of its result
  kExpanded,  ///< conversions have moved through the affine allow-list to where they meet
  kInteger,   ///< and are folded: the canonical integer graph
};

/// The graph after that step.
Graph lowered(const SimulatedGraph&, const QuantTable&, LoweringStage);

/// The canonical integer graph with the arithmetic of another engine, bit for bit: Requantize
/// rounds as that does and multiplies by its factors, and operators that round say whose
/// arithmetic they follow. Executable refuses those for which that is not known. Exported files
/// cannot say it.
/// All of them add up in accumulators that hold any sum: narrower ones are taken out. `onnx`
/// takes out what was said of others, but of averages, of which files can say it; the
/// two of TVM are those of Requantize, Add, Sub
/// and Mul, and what TVM has no integer form of stays as it is; those of TensorFlow Lite are of
/// every operator.
Graph with_numerics(Graph integer, Numerics);

/// The integer graph with averages of TensorFlow Lite: each AveragePool between equal
/// parameters of 8 bits that does not say it has tie_breaking_point() 0. Not one with nothing
/// but moves between it and inputs and outputs of the graph: a file would lose the parameters.
Graph with_tflite_averages(Graph integer);

/// The integer graph of another origin as that target is to run it. Activations have the 8-bit
/// type that the target wants, and int8 weights that its kernels would saturate with are in
/// uint8: the same real values, as storage values and zero points move by 128 together. Inputs
/// and outputs stay as they are. Averages have no tie-breaking point where the target does not
/// average in float.
Graph for_target(Graph integer, const Target&);

/// The network of real values behind a quantized one, to be quantized anew by another scheme:
/// constants are what they stand for, and nothing rounds. Takes models as they were read, in
/// whichever form, which have every Relu that the file has, and integer graphs. Where a storage
/// type begins at the real 0 and what is rounded to it may be below, a Clip to its range stays,
/// as engines leave Relu to it. Inputs and outputs become real.
Graph dequantized(Graph quantized);

/// How an integer graph is spelled in ONNX. All forms say the same and read back to the same
/// integer graph. Requantize disappears into what follows it.
enum class Form : std::uint8_t {
  kQdq,        ///< every operator on integers as DequantizeLinear -> operator -> QuantizeLinear
  kQoperator,  ///< QLinear operators of ONNX and ONNX Runtime
  kInteger,    ///< core operators only: ConvInteger, MatMulInteger and arithmetic
};

/// The graph in that form, as the target wants it, to be written: the operators of ONNX
/// Runtime's domain have no kernels here, reading a file spells them with those of ONNX. No
/// form says in what accumulators engines add up; they take int32.
Graph export_form(const Graph& integer, Form, const Target& = {});

/// The accumulator range of one node.
struct AccumulatorRange {
  NodeId node;
  SumRange range;  ///< of all its results
};

/// The worst-case accumulator range of every sum of products of an integer graph, in
/// topological order: what its partial sums can be for any storage values, in whatever order
/// its products and its bias are added. For Conv, Gemm and MatMul there are storage values and
/// orders that go to both ends; for ConvTranspose the whole kernel counts, though strides may
/// keep parts of it apart. (The l1 bound of Colbert, Pappalardo and Petri-Koenig, A2Q:
/// Accumulator-Aware Quantization with Guaranteed Overflow Avoidance, 2023, with the signs of
/// weights.)
std::vector<AccumulatorRange> worst_case_accumulators(const Graph& integer);

/// As worst_case_accumulators(), the range that was observed on the samples (0: all): in
/// whatever order products and bias are added, and if no accumulator ever overflowed in that
/// node. Factors of 8 bits only; throws Error(kUnsupported) for others. Runs the graph in
/// parallel; the result does not depend on the number of threads, nor on that of the processes
/// that share the samples.
std::vector<AccumulatorRange> observed_accumulators(
    const Graph& integer, const Dataset&, int threads, std::size_t samples,
    const std::function<void(std::size_t done, std::size_t total)>& progress = {},
    Communicator* = nullptr);

/// A shape of graphs that a device runs as one.
struct OffloadPattern {
  std::string name;
  Pattern pattern;
};

/// Nodes that a device may run as one. In an integer graph `graph.type(value).quant` gives the
/// parameters of everything it reads and computes.
struct OffloadRegion {
  std::string pattern;             ///< name of the one that matched
  Match match;                     ///< its captures, and the root: the node that comes last
  std::vector<NodeId> nodes;       ///< in topological order
  std::vector<ValueId> inputs;     ///< computed elsewhere, in the order in which they are read
  std::vector<ValueId> constants;  ///< likewise: weights, biases, limits, shapes
  std::vector<ValueId> outputs;    ///< results of the root that something else reads
};

/// Regions of the graph, in an order in which they can run; no two share a node. Nothing but
/// the root's results is read outside of a region or is a graph output, so no path leaves a
/// region and comes back, and regions never wait for each other in a circle. Patterns are tried
/// one after the other, each at all nodes, so larger ones belong first. At each node only the
/// first way in which a pattern matches is considered; patterns that are to choose between
/// several say single_use() of what has to stay inside.
std::vector<OffloadRegion> partition(const Graph&, const std::vector<OffloadPattern>&);

/// The factors by which a Requantize of the graph rescales, one, or one for each channel: those
/// of its attributes, or the ratios of scales.
std::vector<FixedPointFactor> rescaling_factors(const Graph&, const Node& requantize);

/// A region as a network of its own, by the names of the graph: its inputs are region.inputs,
/// its outputs region.outputs. A Requantize in fixed-point arithmetic has its factors as
/// attributes.
Graph region_graph(const Graph&, const OffloadRegion&);

/// The graph with one node `Region` in the place of each region of it. The attribute `unit` is
/// the pattern's name, `body` the region in the textual form; constants of more than 64
/// elements are operands, see `captured` in docs/textual_ir.md. Executable runs it as it ran
/// the graph.
Graph with_region_nodes(Graph, const std::vector<OffloadRegion>& regions);

/// An operator of a device, which stands in exported files for a shape of the integer graph.
struct ExportOperator {
  std::string_view name;
  std::string_view summary;
  std::string_view domain;           ///< of the operator in files: "com.example"
  std::string_view op;               ///< what files call it: "ConvRelu"
  int benefit = 0;                   ///< larger first, then by name
  std::function<Pattern()> pattern;  ///< of the canonical integer graph, see partition()
  /// What files say of it beside `unit`, `body` and `captured`; may be empty.
  std::function<Attributes(const Graph& integer, const OffloadRegion&)> attributes{};
  /// The targets that have it, by name, or by that of what they extend; empty: every target.
  std::vector<std::string> targets{};
  std::string plugin{};  ///< the file that it comes from; empty: none
};

/// The graph with one node `Region` in the place of each region that an operator of the target
/// stands for, which is written as that operator. Files of it run in tare, which reads the body
/// of such a node, and in engines that have the operator.
Graph with_export_operators(Graph integer, const Target&, std::span<const ExportOperator>);

/// What the canonical integer graph consists of, for devices that run all of it:
///   product_activation  Conv, ConvTranspose, Gemm or MatMul, its Requantize, and Relu or Clip
///   product             the same without activation
///   real_product        one of those four and the Dequantize of its sums
///   operator            any other node whose operands and results are storage values
/// The first three capture "product", "input", "weight" and, where there is one, "bias".
/// Relu is no node where the storage type saturates at 0 itself.
std::vector<OffloadPattern> integer_patterns();

// What targets want of quantized graphs, and what they make of them.

/// Where a graph of QuantizeLinear and DequantizeLinear is not what a target wants.
struct LintFinding {
  std::string node;
  std::string rule;  ///< what the target wants
  std::string what;  ///< what the graph says instead
};

/// Holds a quantized graph, ours or another tool's, against the rules of a target: storage
/// types and zero points, granularity and axis of weights, types and scales of biases, constant
/// and positive scales, places of conversions, parameters around operators that only move
/// elements, one set of parameters per operator that the target unifies, fixed ranges. In
/// topological order; empty when nothing is wrong.
std::vector<LintFinding> lint(const Graph& qdq, const Target&);

/// A check of one's own, for what a device wants that no target file can say.
struct LintRule {
  std::string_view name;
  std::string_view summary;
  /// Looks at the canonical integer graph of a quantized model. `rule` of what it finds may be
  /// left empty, then it is the name of the check.
  std::function<std::vector<LintFinding>(const Graph& integer, const Target&)> check;
  /// The targets that it is about, by name, or by that of what they extend; empty: every
  /// target.
  std::vector<std::string> targets{};
  std::string plugin{};  ///< the file that it comes from; empty: none
};

/// What the checks find that are about the target, one check after the other.
std::vector<LintFinding> lint(const Graph& integer, const Target&, std::span<const LintRule>);

/// How a target runs an operator.
struct Verdict {
  std::string node;  ///< as layer_name() has it
  std::string op;
  std::string runs_as;   ///< the target's integer kernel; empty: it runs on floats
  std::string because;   ///< why it runs on floats, in the words that all with that reason have
  std::string detail{};  ///< numbers or names to that reason; may be empty
  /// Its neighbour's kernel, or the rounding behind it, does its work: a Relu that saturation
  /// replaces, a residual that a convolution adds. It is not counted, as files may have it or
  /// not.
  bool is_part = false;

  bool in_float() const { return !because.empty(); }
};

/// One for each operator with real or storage values as operands or results, conversions of
/// values and of types aside; in topological order.
std::vector<Verdict> verdicts(const Graph& qdq, const Target&);
/// The same for the operators of a float graph that is going to be quantized, whatever the
/// data.
std::vector<Verdict> verdicts(const SimulatedGraph&);
/// The same for one that was quantized by that table, which gave the graph `qdq`.
std::vector<Verdict> verdicts(const SimulatedGraph&, const QuantTable&, const Graph& qdq);

/// Operators that count: everybody who says how many run on integers says this.
struct OperatorCount {
  std::size_t on_integers = 0;
  std::size_t all = 0;
};
OperatorCount count_operators(std::span<const Verdict>);

/// Operators that are in float for the same reason.
struct FloatGroup {
  std::string reason;
  std::vector<const Verdict*> operators;  ///< in topological order
};
/// The largest group first. The verdicts have to outlive it.
std::vector<FloatGroup> float_groups(std::span<const Verdict>);

/// What the node of a float graph is called of which this one of an integer graph is made.
std::string layer_name(std::string_view node);

}  // namespace tare

/// Entry point of a file with one operator for exported files. A shared object of such a file,
/// compiled with TARE_PLUGIN defined, is a plug-in, see TARE_PART.
#define TARE_EXPORT(stem) TARE_PART(ExportOperator, tare_export_##stem)

/// Entry point of a file with one check. A shared object of such a file, compiled with
/// TARE_PLUGIN defined, is a plug-in, see TARE_PART.
#define TARE_LINT(stem) TARE_PART(LintRule, tare_lint_##stem)
