// The groups of an HDF5 file as samples, each as if it were a file of its own: `samples.h5/012`
// is the name of one. Opening looks at all of them, as their shapes have to be known; datasets
// are opened again when they are read, so that many samples take little memory.
#include "io/samples/hdf5_groups.h"

#include "tare/error.h"

#include "base/check.h"
#include "io/hdf5_stored_input.h"
#include "io/hdf5_trial.h"
#include "io/samples/file_dataset.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace tare {
namespace {

using hdf5::Handle;
using hdf5::owned;
using hdf5::SampleAxis;
using hdf5::StoredInput;

constexpr const char* kLabelsOfGroup = "labels";
/// Of a group, whose samples have no other links. There may be as many as kMostGroups.
constexpr std::size_t kMostInSample = 256;
constexpr std::size_t kGroupsInASecond = 2000;  // of three datasets, 15,000 on a fast processor

/// What one group holds, or what is wrong with it.
struct Group {
  FileContents contents{};
  std::optional<Error> error{};
};

struct GroupsOfFile {
  Handle file;
  std::map<std::string, Group> groups;
  /// Of all samples, where they are beside the groups.
  std::optional<std::vector<std::int64_t>> labels;
};

Handle opened_group(const Handle& file, const std::string& name) {
  hdf5::require_link_inside(file, name);
  Handle object = owned(H5Oopen(file.get(), name.c_str(), H5P_DEFAULT), "cannot be opened");
  if (H5Iget_type(object.get()) != H5I_GROUP) {
    throw Error(ErrorCode::kInvalidData, "", "is no group").expected("a group for each sample");
  }
  return object;
}

FileContents contents_of_group(const Handle& file, const std::string& name) {
  FileContents result;
  Faults faults;
  for (hdf5::NamedDataset& named : hdf5::datasets(opened_group(file, name), kMostInSample)) {
    const std::string place = "input '" + named.name + "'";
    if (named.name == kLabelsOfGroup) {
      continue;  // looked at by those who need them
    }
    try {
      result.inputs.push_back(hdf5::look_at(std::move(named), SampleAxis::kNone).input);
    } catch (const Error& error) {
      for (const Fault& fault : error.faults()) {
        faults.add(place, fault.what, fault.expected);
      }
    }
  }
  faults.raise(ErrorCode::kInvalidData);
  return result;
}

std::vector<std::int64_t> labels_beside(const Handle& file, std::size_t samples) {
  StoredInput labels = hdf5::look_at(
      {kLabelsOfGroup, owned(H5Oopen(file.get(), kLabelsOfGroup, H5P_DEFAULT), "labels")},
      SampleAxis::kFirst);
  hdf5::make_labels(labels);
  if (labels.samples != samples) {
    throw Error(ErrorCode::kInvalidData, "",
                "holds " + std::to_string(labels.samples) + " samples")
        .expected(std::to_string(samples) + ", as there are groups");
  }
  return hdf5::read_rows(labels, 0, samples).to_int64();
}

/// The library would keep what it knows of some ten thousand groups, in ten times the memory
/// that they take in the file. Each is needed once now, and once when it is read.
void keep_few_groups(const Handle& file) {
  constexpr std::size_t kBytes = 4 << 20;
  H5AC_cache_config_t config{};
  config.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  hdf5::checked(H5Fget_mdc_config(file.get(), &config), "its cache");
  config.set_initial_size = true;
  config.initial_size = kBytes;
  config.min_size = kBytes;
  config.max_size = kBytes;
  hdf5::checked(H5Fset_mdc_config(file.get(), &config), "its cache");
}

GroupsOfFile read_groups(const std::filesystem::path& path, const hdf5::NumberedGroups& names) {
  GroupsOfFile result;
  result.file =
      owned(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "is not a readable HDF5 file");
  keep_few_groups(result.file);
  for (const std::string& name : names.names) {
    Group& group = result.groups[name];
    try {
      group.contents = contents_of_group(result.file, name);
    } catch (Error& error) {
      group.error = error.at((path / name).string());
    }
  }
  if (names.labels) {
    try {
      result.labels = labels_beside(result.file, names.names.size());
    } catch (Error& error) {
      error.at("dataset 'labels'");
      throw;
    }
  }
  return result;
}

class GroupFormat final : public SampleFormat {
 public:
  explicit GroupFormat(GroupsOfFile groups) : file_(std::move(groups.file)) {
    groups_ = std::move(groups.groups);
  }
  ~GroupFormat() override {
    const auto guard = hdf5::lock();
    file_.close();
  }
  GroupFormat(const GroupFormat&) = delete;
  GroupFormat& operator=(const GroupFormat&) = delete;

  FileContents look_at(const std::filesystem::path& path) const override {
    const Group& group = groups_.at(path.filename().string());
    if (group.error) {
      throw Error(*group.error);
    }
    return group.contents;
  }

  Tensor read(const std::filesystem::path& path, const std::string& input, std::size_t,
              std::size_t) const override {
    try {
      return read_dataset(path.filename().string(), input);
    } catch (Error& error) {
      error.at("input '" + input + "'").at(path.string());
      throw;
    }
  }

  std::optional<std::vector<std::int64_t>> labels(
      const std::filesystem::path& path) const override try {
    const std::string group = path.filename().string();
    const auto guard = hdf5::lock();
    const Handle of_group = opened_group(file_, group);
    if (hdf5::checked(H5Lexists(of_group.get(), kLabelsOfGroup, H5P_DEFAULT), "labels") == 0) {
      return std::nullopt;
    }
    StoredInput labels = opened_source(group, kLabelsOfGroup);
    hdf5::make_labels(labels);
    return hdf5::read_sample(labels).to_int64();
  } catch (Error& error) {
    error.at("dataset 'labels'").at(path.string());
    throw;
  }

 private:
  StoredInput opened_source(const std::string& group, const std::string& name) const {
    const std::string place = group + "/" + name;
    Handle dataset =
        owned(H5Dopen2(file_.get(), place.c_str(), H5P_DEFAULT), "cannot be opened");
    return hdf5::look_at({name, std::move(dataset)}, SampleAxis::kNone);
  }

  Tensor read_dataset(const std::string& group, const std::string& input) const {
    StoredInput source;
    Tensor stored;
    {
      const auto guard = hdf5::lock();
      source = opened_source(group, input);
      stored = hdf5::read_sample(source);
      source.dataset.close();
    }
    return hdf5::as_input(source, std::move(stored));
  }

  Handle file_;
  std::map<std::string, Group> groups_;
};

}  // namespace

bool are_samples(const hdf5::NumberedGroups& groups, const std::vector<ModelInput>& model) {
  return std::none_of(model.begin(), model.end(), [&](const ModelInput& input) {
    const std::size_t end = input.name.find('/');
    return end != std::string::npos &&
           std::find(groups.names.begin(), groups.names.end(), input.name.substr(0, end)) !=
               groups.names.end();
  });
}

std::unique_ptr<Dataset> samples_in_groups(const std::filesystem::path& path,
                                           const hdf5::NumberedGroups& names,
                                           const std::vector<ModelInput>& model,
                                           const Hdf5Options& options) {
  GroupsOfFile groups;
  try {
    const auto guard = hdf5::lock();
    groups = hdf5::read_with(
        options, [&] { return read_groups(path, names); },
        hdf5::kUsualSeconds + static_cast<unsigned>(names.names.size() / kGroupsInASecond));
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
  SampleFiles files{.kind = FileKind::kHdf5, .paths = {}, .labels = std::move(groups.labels)};
  for (const std::string& name : names.names) {
    files.paths.push_back(path / name);
  }
  return file_dataset(std::move(files), std::make_unique<GroupFormat>(std::move(groups)),
                      model);
}

}  // namespace tare
