#pragma once

#include "tare/dataset.h"

#include "io/samples/sample_files.h"
#include "io/samples/sample_format.h"

#include <memory>

namespace tare {

/// The samples of files, one file after the other. Looks at all of them. Throws Error(kIo), and
/// Error(kInvalidData) with the files that are damaged, or whose inputs are not those of the
/// first one. Samples of several files may differ in shape where the model leaves extents open.
std::unique_ptr<Dataset> file_dataset(SampleFiles, std::unique_ptr<SampleFormat>,
                                      const std::vector<ModelInput>& model);

}  // namespace tare
