#pragma once

#include "tare/dataset.h"
#include "tare/node.h"

#include "engine/engine.h"

#include <map>
#include <string>

namespace tare {

/// What a model is timed on: the first run's share of the samples, or without any normal values
/// for floats and zeros, which are valid indices, for integers. Always the same.
ModelInputs model_inputs(const Graph&, const Dataset*);

/// One for each input of the graph, in its order: those that are given with the right type and
/// shape, and made up ones.
ModelInputs complete_inputs(const Graph&, const ModelInputs& given);

/// Without the first dimension, as load_model() takes them.
std::map<std::string, Shape> shapes_of(const ModelInputs&);

}  // namespace tare
