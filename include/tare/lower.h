#pragma once

#include "tare/accumulator.h"
#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/requantize.h"
#include "tare/simulate.h"

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

/// Names of the nodes of an integer graph that compute on real values: they have a float32
/// operand or result, and are no conversion.
std::vector<std::string> float_operators(const Graph& integer);

/// A graph of QuantizeLinear and DequantizeLinear, ours or another tool's, with Quantize and
/// Dequantize in their place, so that lower() makes the same integer graph of it as of a float
/// graph with a table. Those whose parameters are computed, or are of other types than i8 u8
/// i16 u16 i32, stay as they are.
Graph from_qdq(Graph);

/// A graph of to_qdq() with biases in float32, for engines that quantize them by themselves.
Graph with_real_biases(Graph qdq);

/// A graph of to_qdq() where a Relu or Clip between equal conversions comes before both, as
/// one, for engines that merge it with what computes its operand. Rounding keeps order, so
/// results are the same.
Graph merge_activations(Graph qdq);

/// The integer graph as ordinary ONNX: every operator on integers becomes DequantizeLinear ->
/// operator -> QuantizeLinear; Requantize disappears into the latter. Nothing of it says in
/// what accumulators engines add up; they take int32.
Graph to_qdq(const Graph& integer);

}  // namespace tare
