#pragma once

#include "tare/config.h"
#include "tare/node.h"
#include "tare/quant_table.h"

namespace tare {

/// Whether the bias of a product is added to what its accumulator became, as the rules for it,
/// the configuration or the target say.
bool adds_bias_after(const LayerRule& of_product, const Config&, const Target&);

/// The graph with an Add behind each product whose constant bias is added to storage values. It
/// stands for the product in rules, and its result has the name of the product's.
Graph with_separate_biases(Graph, const Config&, const Target&);

}  // namespace tare
