#pragma once

#include "tare/dataset.h"

#include "io/samples/sample_format.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

// Each format in a file of its own. What options say that the format does not take is no fault.

std::unique_ptr<SampleFormat> hdf5_format(const SampleOptions&);
std::unique_ptr<SampleFormat> npy_format(const SampleOptions&);
std::unique_ptr<SampleFormat> npz_format(const SampleOptions&);
std::unique_ptr<SampleFormat> raw_format(const SampleOptions&);
std::unique_ptr<SampleFormat> picture_format(const SampleOptions&);
std::unique_ptr<SampleFormat> recording_format(const SampleOptions&);

/// Null unless the model has several inputs and these files have the names of all of them.
std::unique_ptr<SampleFormat> folder_of_inputs(const SampleOptions&,
                                               const std::vector<std::filesystem::path>&);

/// The input of a model that has no other. Throws Error(kInvalidConfig): `what` say nothing of
/// several.
const ModelInput& only_input(const SampleOptions&, std::string_view what);

/// What is said of that input, or of all.
const InputPreparation& preparation_of(const SampleOptions&, const std::string& input);

}  // namespace tare
