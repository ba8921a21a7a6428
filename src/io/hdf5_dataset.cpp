// Samples in an HDF5 file, one dataset for each input. Opening reads the structure only, in a
// child process first where that is asked for (hdf5_trial.cpp); samples are read as slices of
// the first axis, or sequences (hdf5_sequences.cpp). Where the file holds groups, these may be
// the samples (hdf5_groups.cpp).
#include "tare/error.h"

#include "base/check.h"
#include "base/files.h"
#include "io/hdf5_stored_input.h"
#include "io/hdf5_trial.h"
#include "io/open_hdf5.h"
#include "io/samples/hdf5_groups.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

using hdf5::Handle;
using hdf5::owned;
using hdf5::StoredInput;

Error invalid(const std::string& what) {
  return {ErrorCode::kInvalidData, "", what};
}

struct Contents {
  Handle file;
  /// Where there are some, nothing else was read.
  hdf5::NumberedGroups groups;
  std::vector<StoredInput> sources;
  std::optional<StoredInput> labels;
  /// What is wrong with the labels, for those who need them.
  std::optional<Error> labels_fault;
};

StoredInput rows_of(const std::filesystem::path& path, const Handle& file,
                    hdf5::NamedDataset named) {
  if (auto sequences = hdf5::look_at_sequences(path, named)) {
    return *std::move(sequences);
  }
  StoredInput source = hdf5::look_at(std::move(named), hdf5::SampleAxis::kFirst);
  hdf5::keep_chunks(file, source);
  return source;
}

void read_labels(const std::filesystem::path& path, hdf5::NamedDataset named,
                 Contents& contents) {
  try {
    StoredInput source = rows_of(path, contents.file, std::move(named));
    hdf5::make_labels(source);
    contents.labels = std::move(source);
  } catch (Error& error) {
    contents.labels_fault = error;
  }
}

Contents read_contents(const std::filesystem::path& path, bool stop_at_groups) {
  Contents contents;
  contents.file =
      owned(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "is not a readable HDF5 file");
  if (stop_at_groups) {
    contents.groups = hdf5::numbered_groups(contents.file);
    if (!contents.groups.names.empty()) {
      return contents;
    }
  }
  Faults faults;
  for (hdf5::NamedDataset& named : hdf5::datasets(contents.file)) {
    if (named.name == "labels") {
      read_labels(path, std::move(named), contents);
      continue;
    }
    const std::string place = "input '" + named.name + "'";
    try {
      contents.sources.push_back(rows_of(path, contents.file, std::move(named)));
    } catch (const Error& error) {
      for (const Fault& fault : error.faults()) {
        faults.add(place, fault.what, fault.expected);
      }
    }
  }
  faults.raise(ErrorCode::kInvalidData);
  return contents;
}

void require_equal_counts(Contents& contents) {
  if (contents.sources.empty()) {
    throw invalid("holds no inputs").expected("one dataset per model input");
  }
  const StoredInput& first = contents.sources.front();
  const auto found = [](const StoredInput& source) {
    return "holds " + std::to_string(source.samples) + " samples";
  };
  const std::string wanted =
      std::to_string(first.samples) + " as in '" + first.input.name + "'";
  Faults faults;
  for (const StoredInput& source : contents.sources) {
    if (source.samples != first.samples) {
      faults.add("dataset '" + source.input.name + "'", found(source), wanted);
    }
  }
  faults.raise(ErrorCode::kInvalidData);
  if (contents.labels && contents.labels->samples != first.samples) {
    contents.labels_fault = invalid(found(*contents.labels)).expected(wanted);
  }
}

/// Lengths of one sample in all inputs.
std::int64_t length_of(const std::vector<StoredInput>& sources, std::size_t sample) {
  std::int64_t length = 0;
  for (const StoredInput& source : sources) {
    length += source.sequences ? source.sequences->length(sample) : 0;
  }
  return length;
}

/// Sequences that are all of one length.
Tensor sequences_as_rows(const hdf5::Sequences& sequences, std::size_t first,
                         std::size_t count) {
  Tensor result(sequences.dtype(), {static_cast<std::int64_t>(count), sequences.length(first)});
  std::byte* to = result.mutable_data();
  for (std::size_t i = first; i < first + count; ++i) {
    const Tensor one = sequences.read(i);
    to = std::copy_n(one.data(), one.byte_size(), to);
  }
  return result;
}

Tensor rows_of(const StoredInput& source, std::size_t first, std::size_t count) {
  if (source.rows != nullptr) {
    return source.rows->read(first, count);
  }
  const auto guard = hdf5::lock();
  return hdf5::read_rows(source, first, count);
}

class Hdf5Dataset final : public Dataset {
 public:
  Hdf5Dataset(std::filesystem::path path, Contents contents)
      : path_(std::move(path)), contents_(std::move(contents)) {
    std::size_t largest = 0;
    for (std::size_t i = 1; i < size(); ++i) {
      if (length_of(contents_.sources, i) > length_of(contents_.sources, largest)) {
        largest = i;
      }
    }
    for (const StoredInput& source : contents_.sources) {
      inputs_.push_back(source.input);
      if (const auto& sequences = source.sequences) {
        inputs_.back().shape = {sequences->length(largest)};
        for (std::size_t i = 0; i < size(); ++i) {
          several_shapes_ =
              several_shapes_ || sequences->length(i) != sequences->length(largest);
        }
      }
    }
  }
  ~Hdf5Dataset() override {
    const auto guard = hdf5::lock();
    contents_ = {};
  }
  Hdf5Dataset(const Hdf5Dataset&) = delete;
  Hdf5Dataset& operator=(const Hdf5Dataset&) = delete;

  std::size_t size() const override { return contents_.sources.front().samples; }
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }
  bool has_several_shapes() const override { return several_shapes_; }

  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override
      try {
    check(count <= size() && first <= size() - count, "samples beyond the end of the data");
    const StoredInput& source = find(input);
    check(!several_shapes_ || count <= 1, "samples of several shapes are read one by one");
    Tensor stored = source.sequences ? sequences_as_rows(*source.sequences, first, count)
                                     : rows_of(source, first, count);
    Tensor result = hdf5::as_input(source, std::move(stored));
    if (result.dtype() == DType::kFloat32) {
      require_finite(result, input, first);
    }
    return result;
  } catch (Error& error) {
    error.at(path_.string());
    throw;
  }

  std::optional<std::vector<std::int64_t>> labels() const override try {
    if (contents_.labels_fault) {
      throw Error(*contents_.labels_fault);
    }
    if (!contents_.labels) {
      return std::nullopt;
    }
    return rows_of(*contents_.labels, 0, size()).to_int64();
  } catch (Error& error) {
    error.at("dataset 'labels'").at(path_.string());
    throw;
  }

 private:
  const StoredInput& find(const std::string& input) const {
    const auto found =
        std::find_if(contents_.sources.begin(), contents_.sources.end(),
                     [&](const StoredInput& s) { return s.input.name == input; });
    if (found == contents_.sources.end()) {
      throw Error(ErrorCode::kInvalidData, "", "no dataset '" + input + "'");
    }
    return *found;
  }

  std::filesystem::path path_;
  Contents contents_;
  std::vector<DatasetInput> inputs_;
  bool several_shapes_ = false;
};

Contents read_contents_of(const std::filesystem::path& path, const Hdf5Options& options,
                          bool stop_at_groups) {
  const auto guard = hdf5::lock();
  try {
    Contents contents =
        hdf5::read_with(options, [&] { return read_contents(path, stop_at_groups); });
    if (!contents.groups.names.empty()) {
      contents.file.close();  // whoever opens the file again knows nothing of it
    } else {
      require_equal_counts(contents);
    }
    return contents;
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

}  // namespace

std::unique_ptr<Dataset> open_hdf5(const std::filesystem::path& path,
                                   const Hdf5Options& options, const InputsOfModel& model) {
  require_readable(path, "an HDF5 file with one dataset for each input of the model");
  Contents contents = read_contents_of(path, options, true);
  if (!contents.groups.names.empty()) {
    const std::vector<ModelInput> inputs = model ? model() : std::vector<ModelInput>();
    if (are_samples(contents.groups, inputs)) {
      return samples_in_groups(path, contents.groups, inputs, options);
    }
    contents = read_contents_of(path, options, false);
  }
  return std::make_unique<Hdf5Dataset>(path, std::move(contents));
}

std::unique_ptr<Dataset> open_dataset(const std::filesystem::path& path,
                                      const Hdf5Options& options) {
  return open_hdf5(path, options, {});
}

}  // namespace tare
