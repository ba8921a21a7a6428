#include "io/samples/file_dataset.h"

#include "tare/error.h"

#include "base/check.h"
#include "base/parallel.h"
#include "io/normalize.h"
#include "io/samples/npy.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tare {
namespace {

/// What is wrong with one file of many is likely to be wrong with others.
constexpr std::size_t kMostFaults = 10;

/// Whether the model takes samples of both shapes: they differ where it leaves extents open.
/// What is no input of a known model may differ, too.
bool takes_both(const ModelInput* input, const Shape& a, const Shape& b) {
  if (a == b) {
    return true;
  }
  if (a.size() != b.size()) {
    return false;
  }
  if (input == nullptr || !input->shape) {
    return true;
  }
  // Samples are whole inputs, or rows of the first axis.
  const std::size_t rank = input->shape->size();
  const std::size_t first = rank - std::min(rank, a.size());
  for (std::size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis] != b[axis] && (first + axis >= rank || (*input->shape)[first + axis] >= 0)) {
      return false;
    }
  }
  return true;
}

void require_like(const FileContents& found, const FileContents& first,
                  const std::string& place, const std::string& first_place,
                  const std::vector<ModelInput>& model, Faults& faults) {
  for (const DatasetInput& input : first.inputs) {
    const auto same =
        std::find_if(found.inputs.begin(), found.inputs.end(),
                     [&](const DatasetInput& other) { return other.name == input.name; });
    if (same == found.inputs.end()) {
      faults.add(place, "holds no '" + input.name + "'", "one as in '" + first_place + "'");
    } else if (same->dtype != input.dtype ||
               !takes_both(find_input(model, input.name), same->shape, input.shape)) {
      faults.add(place,
                 "'" + input.name + "' is " + std::string(name_of(same->dtype)) + " " +
                     to_string(same->shape),
                 std::string(name_of(input.dtype)) + " " + to_string(input.shape) + " as in '" +
                     first_place + "'");
    }
  }
}

std::int64_t elements_in(const FileContents& contents) {
  std::int64_t elements = 0;
  for (const DatasetInput& input : contents.inputs) {
    elements += element_count(input.shape);
  }
  return elements;
}

/// The first of them that has most elements in a sample.
const FileContents& largest(const std::vector<FileContents>& contents) {
  return *std::max_element(contents.begin(), contents.end(), [](const auto& a, const auto& b) {
    return elements_in(a) < elements_in(b);
  });
}

bool have_shapes(const FileContents& contents, const std::vector<DatasetInput>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [&](const DatasetInput& input) {
    return std::any_of(contents.inputs.begin(), contents.inputs.end(), [&](const auto& other) {
      return other.name == input.name && other.shape == input.shape;
    });
  });
}

class FileDataset final : public Dataset {
 public:
  FileDataset(SampleFiles files, std::unique_ptr<SampleFormat> format,
              const std::vector<ModelInput>& model)
      : files_(std::move(files)), format_(std::move(format)) {
    const std::vector<FileContents> contents = look_at_all();
    inputs_ = largest(contents).inputs;
    several_shapes_ = std::any_of(contents.begin(), contents.end(), [&](const auto& each) {
      return each.several_shapes || !have_shapes(each, inputs_);
    });
    Faults faults;
    for (std::size_t i = 0; i < contents.size(); ++i) {
      if (faults.size() < kMostFaults) {
        require_like(contents[i], contents.front(), files_.paths[i].string(),
                     files_.paths.front().filename().string(), model, faults);
      }
      begins_.push_back(size_);
      size_ += contents[i].samples;
    }
    faults.raise(ErrorCode::kInvalidData);
  }

  std::size_t size() const override { return size_; }
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }

  bool has_several_shapes() const override { return several_shapes_; }

  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override {
    check(!several_shapes_ || count <= 1, "samples of several shapes are read one by one");
    check(count <= size_ && first <= size_ - count, "samples beyond the end of the data");
    std::optional<Tensor> all;
    std::byte* to = nullptr;
    while (count > 0) {
      const std::size_t file = file_of(first);
      const std::size_t end = file + 1 < begins_.size() ? begins_[file + 1] : size_;
      const std::size_t next = std::min(count, end - first);
      const Tensor part = read_part(input, file, first - begins_[file], next);
      if (!all) {
        if (next == count) {
          return part;
        }
        Shape shape = part.shape();
        shape[0] = static_cast<std::int64_t>(count);
        all.emplace(part.dtype(), std::move(shape));
        to = all->mutable_data();
      }
      to = std::copy(part.data(), part.data() + part.byte_size(), to);
      first += next;
      count -= next;
    }
    return all.value_or(Tensor());
  }

  std::optional<std::vector<std::int64_t>> labels() const override {
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < files_.paths.size(); ++i) {
      const std::size_t count = (i + 1 < begins_.size() ? begins_[i + 1] : size_) - begins_[i];
      if (files_.labels) {
        all.insert(all.end(), count, (*files_.labels)[i]);
        continue;
      }
      const auto own = format_->labels(files_.paths[i]);
      if (!own && all.empty()) {
        return std::nullopt;
      }
      if (!own || own->size() != count) {
        throw Error(ErrorCode::kInvalidData, files_.paths[i].string(),
                    "holds " + std::to_string(own ? own->size() : 0) + " labels")
            .expected(std::to_string(count));
      }
      all.insert(all.end(), own->begin(), own->end());
    }
    return all;
  }

 private:
  std::vector<FileContents> look_at_all() const {
    std::vector<FileContents> contents(files_.paths.size());
    std::vector<std::optional<Error>> errors(files_.paths.size());
    parallel_for(contents.size(), thread_count(0), [&](std::size_t, std::size_t i) {
      try {
        contents[i] = format_->look_at(files_.paths[i]);
      } catch (const Error& error) {
        errors[i] = error;
      }
    });
    Faults faults;
    std::size_t damaged = 0;
    ErrorCode code = ErrorCode::kInvalidData;
    for (const auto& error : errors) {
      if (error && ++damaged <= kMostFaults) {
        code = error->code();
        for (const Fault& fault : error->faults()) {
          faults.add(fault.where, fault.what, fault.expected, fault.hint);
        }
      }
    }
    if (damaged == 1) {  // with its hint
      throw *std::find_if(errors.begin(), errors.end(),
                          [](const auto& error) { return error.has_value(); })
          ->
          operator->();
    }
    if (damaged > kMostFaults) {
      faults.add("samples", "so are " + std::to_string(damaged - kMostFaults) + " other files");
    }
    faults.raise(code);
    return contents;
  }

  std::size_t file_of(std::size_t sample) const {
    const auto next = std::upper_bound(begins_.begin(), begins_.end(), sample);
    return static_cast<std::size_t>(next - begins_.begin()) - 1;
  }

  Tensor read_part(const std::string& input, std::size_t file, std::size_t first,
                   std::size_t count) const {
    const std::filesystem::path& path = files_.paths[file];
    Tensor part = format_->read(path, input, first, count);
    const auto described =
        std::find_if(inputs_.begin(), inputs_.end(),
                     [&](const DatasetInput& known) { return known.name == input; });
    check(described != inputs_.end(), "an input that the samples do not have");
    const Shape sample(part.shape().begin() + 1, part.shape().end());
    if (part.dtype() != described->dtype || (!several_shapes_ && sample != described->shape) ||
        sample.size() != described->shape.size()) {
      throw Error(ErrorCode::kInvalidData, path.string(), "has changed since it was opened");
    }
    if (part.dtype() == DType::kFloat32) {
      try {
        require_finite(part, input, first);
      } catch (Error& error) {
        error.at(path.string());
        throw;
      }
    }
    return part;
  }

  SampleFiles files_;
  std::unique_ptr<SampleFormat> format_;
  std::vector<DatasetInput> inputs_;
  std::vector<std::size_t> begins_;  ///< the first sample of each file
  std::size_t size_ = 0;
  bool several_shapes_ = false;
};

}  // namespace

std::unique_ptr<Dataset> file_dataset(SampleFiles files, std::unique_ptr<SampleFormat> format,
                                      const std::vector<ModelInput>& model) {
  return std::make_unique<FileDataset>(std::move(files), std::move(format), model);
}

}  // namespace tare
