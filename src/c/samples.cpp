// Samples from the caller: in memory, one piece after another, or made on demand.
#include "c/samples.h"

#include "tare/error.h"

#include "base/scratch_file.h"
#include "c/given_samples.h"
#include "c/guard.h"

#include <algorithm>
#include <utility>

namespace tare::c {
namespace {

class ArraySamples final : public GivenSamples {
 public:
  explicit ArraySamples(Piece all)
      : GivenSamples(all.samples, all.described()), arrays_(std::move(all.inputs)) {
    labels_ = std::move(all.labels);
    labels_fault_ = std::move(all.labels_fault);
  }

 private:
  void fetch(std::size_t input, std::size_t first, std::size_t count,
             std::byte* out) const override {
    copy_rows(arrays_[input], first, count, out);
  }

  std::vector<Array> arrays_;
};

std::size_t sample_bytes(const DatasetInput& input) {
  return static_cast<std::size_t>(element_count(input.shape)) * size_of(input.dtype);
}

class SpooledSamples final : public GivenSamples {
 public:
  SpooledSamples() : GivenSamples(0, {}) {}

  void append(const Piece& piece) {
    const std::vector<DatasetInput> inputs = piece.described();
    if (count_ == 0) {
      inputs_ = inputs;
      files_ = std::vector<ScratchFile>(inputs.size());
      if (piece.labels) {
        labels_.emplace();
      }
    }
    require_alike(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      write(piece.inputs[i], piece.samples, i);
    }
    take_labels(piece);
    count_ += piece.samples;
  }

 private:
  void require_alike(const std::vector<DatasetInput>& inputs) const {
    const auto place = "samples from " + std::to_string(count_) + " on";
    Faults faults;
    for (const DatasetInput& known : inputs_) {
      const auto found =
          std::find_if(inputs.begin(), inputs.end(),
                       [&](const DatasetInput& input) { return input.name == known.name; });
      if (found == inputs.end()) {
        faults.add(place, "input '" + known.name + "' is missing");
      } else if (found->dtype != known.dtype || found->shape != known.shape) {
        faults.add(
            place,
            "input '" + known.name + "' is " + std::string(name_of(found->dtype)) +
                to_string(found->shape),
            std::string(name_of(known.dtype)) + to_string(known.shape) + " as in those before");
      }
    }
    for (const DatasetInput& input : inputs) {
      if (std::none_of(inputs_.begin(), inputs_.end(),
                       [&](const DatasetInput& known) { return known.name == input.name; })) {
        faults.add(place, "input '" + input.name + "' is not in those before");
      }
    }
    faults.raise(ErrorCode::kInvalidData);
  }

  void write(const Array& array, std::size_t samples, std::size_t input) {
    const std::size_t bytes = sample_bytes(inputs_[input]);
    // Some samples at a time, as memory must not grow with what comes at once.
    const std::size_t step = std::max<std::size_t>(1, (std::size_t{1} << 20) / (bytes + 1));
    std::vector<std::byte> buffer(bytes * std::min(step, samples));
    for (std::size_t first = 0; first < samples; first += step) {
      const std::size_t count = std::min(step, samples - first);
      copy_rows(array, first, count, buffer.data());
      files_[input].write((count_ + first) * bytes, std::span(buffer).first(count * bytes));
    }
  }

  void take_labels(const Piece& piece) {
    if (piece.labels_fault && !labels_fault_) {
      labels_fault_ = piece.labels_fault;
    } else if (piece.labels.has_value() != labels_.has_value() && !labels_fault_) {
      labels_fault_ =
          Error(ErrorCode::kInvalidData, "samples from " + std::to_string(count_) + " on",
                piece.labels ? "have labels, those before have none"
                             : "have no labels, those before have some");
    } else if (piece.labels && labels_) {
      labels_->insert(labels_->end(), piece.labels->begin(), piece.labels->end());
    }
  }

  void fetch(std::size_t input, std::size_t first, std::size_t count,
             std::byte* out) const override {
    const std::size_t bytes = sample_bytes(inputs_[input]);
    files_[input].read(first * bytes, std::span(out, count * bytes));
  }

  std::vector<ScratchFile> files_;
};

class SourceSamples final : public GivenSamples {
 public:
  SourceSamples(const tare_source& source, std::vector<DatasetInput> inputs)
      : GivenSamples(source.samples, std::move(inputs)), source_(source) {}

 private:
  void fetch(std::size_t input, std::size_t first, std::size_t count,
             std::byte* out) const override {
    if (source_.read(source_.context, input, first, count, out) != 0) {
      throw CallbackFailed{"read"};
    }
  }

  tare_source source_;
};

void require_samples(const Dataset& data) {
  if (data.size() == 0) {
    throw Error(ErrorCode::kInvalidData, "samples", "there are none");
  }
}

}  // namespace

std::unique_ptr<Dataset> samples_of_arrays(std::vector<Array> arrays) {
  auto result = std::make_unique<ArraySamples>(Piece(std::move(arrays)));
  require_samples(*result);
  return result;
}

std::unique_ptr<Dataset> samples_of_pieces(
    const std::function<bool(std::vector<Array>&)>& next) {
  auto result = std::make_unique<SpooledSamples>();
  for (std::vector<Array> arrays; next(arrays); arrays.clear()) {
    result->append(Piece(std::move(arrays)));
  }
  require_samples(*result);
  return result;
}

std::unique_ptr<Dataset> samples_of_source(const tare_source& source) {
  std::vector<DatasetInput> inputs;
  for (std::size_t i = 0; i < source.count; ++i) {
    Array array = array_of(source.inputs[i], true);
    inputs.push_back(
        {.name = std::move(array.name), .dtype = array.dtype, .shape = std::move(array.shape)});
  }
  auto result = std::make_unique<SourceSamples>(source, std::move(inputs));
  require_samples(*result);
  return result;
}

}  // namespace tare::c
