#pragma once

#include "tare/graph.h"
#include "tare/model_files.h"

#include <map>
#include <set>

namespace tare {

/// Makes a graph right for all extents that its model leaves open, not only for those that its
/// inputs are bound to here. What is computed from shapes is a constant where it is the same
/// for other extents, and the target of a Reshape where it can say so (0 and -1); the rest
/// stays computed. Dimensions for which the graph holds for no other extent lose their names
/// in Graph::dimension_names, and enter Graph::fixed_dimensions. Where some stay open,
/// Graph::reshape is set. It refuses shapes for which the model would be another network.
///
/// `decisive` are values that what was made of the model depends on, and `assumed` those that
/// nothing in the graph tells.
void keep_dimensions_open(Graph&, const Evaluator&, const std::set<ValueId>& decisive,
                          const std::map<ValueId, Tensor>& assumed);

}  // namespace tare
