#pragma once

#include "tare/accumulator.h"
#include "tare/graph.h"
#include "tare/numerics.h"
#include "tare/quant_table.h"
#include "tare/requantize.h"
#include "tare/simulate.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tare {

/// True when the table decides every point of the region and disables none.
bool is_enabled(const Region&, const QuantTable&);

/// The canonical integer graph, in three steps:
///   quantize  each region's `quantize` callback: integer operators between Quantize and
///             Dequantize, accumulation in the graph's Accumulator;
///   expand    Quantize moves up, Dequantize down, through the affine allow-list;
///   fold      adjacent Dequantize and Quantize become Requantize, equal ones vanish.
/// Every integer value carries its QuantParams.
Graph lower(const SimulatedGraph&, const QuantTable&);

/// The canonical integer graph of one that says with Quantize and Dequantize around float
/// operators how it is to be run: sums of products between them run on integers, then `expand`
/// and `fold` as above.
Graph lower(Graph, const RequantizeMode& = {}, const Accumulator& = {});

/// A graph of from_qdq() in which averages of storage values that only products read, and that
/// nothing rounds, are rounded to the parameters of their operand, whose range holds theirs. So
/// those products can run on integers.
Graph with_rounded_averages(Graph);

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

/// Points of values of an integer graph that follow from no name: value and point, empty where
/// it has none. By names, storage values X_quantized and the weight X_quantized have the point
/// X, values whose elements are only moved that of what they are moved from, and sums and their
/// biases that of both factors, "X*W".
std::map<std::string, std::string> unnamed_points(const Graph& integer);
/// The integer graph with the points that its names say, but for those.
Graph with_points(Graph integer, const std::map<std::string, std::string>& unnamed);

/// Names of the nodes of an integer graph that compute on real values: they have a float32
/// operand or result, and are no conversion.
std::vector<std::string> float_operators(const Graph& integer);

/// A graph of QuantizeLinear and DequantizeLinear, ours or another tool's, without parameters
/// in its types so far, with Quantize and Dequantize in their place, so that lower() makes the
/// same integer graph of it as of a float graph with a table. Those whose parameters are
/// computed, or are of other types than i8 u8 i16 u16 i32, stay as they are.
Graph from_qdq(Graph);

/// A graph of to_integer_operators() with QuantizeLinear, DequantizeLinear, Conv, Gemm and
/// MatMul in their place. What only resembles them stays as it is.
Graph from_integer_operators(Graph);

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

/// A graph of to_qdq() with biases in float32, for engines that quantize them by themselves.
Graph with_real_biases(Graph qdq);

/// A graph of to_qdq() in which weights whose integers fit into 4 bits are marked, by
/// parameters of 4 bits in their type: write_onnx() stores them as INT4 or UINT4, and
/// read_onnx() marks those that are. Where `only_blocks`, those in blocks.
Graph with_packed_weights(Graph qdq, bool only_blocks = false);

/// A written graph in which products with float weights read values that are dequantized with a
/// scale for each channel, all of them equal, instead of one: the same values, but engines that
/// quantize such weights on their own account (ONNX Runtime from 1.20, per tensor) only do so
/// behind a single scale.
Graph with_repeated_scales(Graph onnx);

/// A graph of to_qdq() where a Relu or Clip between equal conversions comes before both, as
/// one, for engines that merge it with what computes its operand. Rounding keeps order, so
/// results are the same.
Graph merge_activations(Graph qdq);

/// A written graph in which images that convolutions in float computed are transposed to
/// channels last and flattened to rows before QuantizeLinear, and back behind it, for engines
/// whose integer kernels want that layout and whose float ones leave theirs cheaply for it, but
/// who do not find out by themselves. Elements only move.
Graph quantize_channels_last(Graph onnx);

/// A graph of to_qdq() in which a Pad between equal conversions pads storage values, for
/// engines that would run it in float. From opset 13 on, where that is defined.
Graph pad_storage(Graph qdq);

Graph to_qdq(const Graph& integer);
/// Products and elementwise arithmetic between 8-bit storage values become QLinearConv,
/// QLinearMatMul, QGemm, QLinearAdd, ...; operators that move elements act on storage values. A
/// product whose sums stay real becomes QGemm without result parameters or
/// MatMulIntegerToFloat. What has no such operator, or not for these storage types, is written
/// as in to_qdq().
Graph to_qoperator(const Graph& integer);
/// Sums of products become ConvInteger and MatMulInteger with an Add for the bias; storage
/// values are made with Div, Round, Add, Clip and Cast, and read with Cast, Sub and Mul. There
/// are no operators of quantization and none outside of ONNX. Sums have each scale multiplied
/// on by itself, so that both can be read back. Throws Error(kInvalidConfig) that names all
/// values in blocks.
Graph to_integer_operators(const Graph& integer);

}  // namespace tare
