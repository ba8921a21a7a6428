#pragma once

#include "tare/dataset.h"

#include <memory>

namespace tare {

/// The same samples, where the batch of an input is not on its first axis: each is then a whole
/// input, with an extent of 1 on that axis. It is where the preparation says, or on the one
/// axis on which samples fit that do not fit the first.
std::unique_ptr<Dataset> with_batch_axes(std::unique_ptr<Dataset>, const SampleOptions&);

/// The inputs as files of arrays are to be read for them: one without a batch takes a whole
/// array for each sample.
std::vector<ModelInput> inputs_of_arrays(const SampleOptions&);

}  // namespace tare
