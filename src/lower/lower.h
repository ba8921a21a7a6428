#pragma once

#include "tare/arithmetic.h"
#include "tare/integer_graph.h"
#include "tare/node.h"
#include "tare/quant_table.h"

#include <map>
#include <string>
#include <vector>

namespace tare {

struct Region;
struct Target;

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
Graph lower(Graph, const NetworkArithmetic& = {});

/// A graph of from_qdq() in which averages of storage values that only products read, and that
/// nothing rounds, are rounded to the parameters of their operand, whose range holds theirs. So
/// those products can run on integers.
Graph with_rounded_averages(Graph);

/// Points of values of an integer graph that follow from no name: value and point, empty where
/// it has none. By names, storage values X_quantized and the weight X_quantized have the point
/// X, values whose elements are only moved that of what they are moved from, and sums and their
/// biases that of both factors, "X*W".
std::map<std::string, std::string> unnamed_points(const Graph& integer);
/// The integer graph with the points that its names say, but for those.
Graph with_points(Graph integer, const std::map<std::string, std::string>& unnamed);

/// The integer graph in which each operator has operands and results of one width, for a target
/// with kernels for 8 and 16 bits: where one has 16, others of 8 bits are converted before and
/// behind it, rescaled in that mode. Weights keep theirs. As it is for other targets.
Graph with_equal_widths(Graph integer, const Target&, const RequantizeMode&);

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

}  // namespace tare
