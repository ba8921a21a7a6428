// Samples from the caller: in memory, one piece after another, or made on demand.
#include "c/samples.h"

#include "tare/error.h"

#include "base/scratch_file.h"
#include "c/guard.h"
#include "c/pieced_samples.h"

#include <algorithm>
#include <utility>

namespace tare::c {
namespace {

class ArraySamples final : public PiecedSamples {
 public:
  void append(Piece piece) {
    take(piece);
    begins_.push_back(count_ - piece.samples);
    arrays_.push_back(std::move(piece.inputs));
  }

 private:
  void fetch(std::size_t input, std::size_t first, std::size_t count,
             std::byte* out) const override {
    auto piece = static_cast<std::size_t>(
        std::upper_bound(begins_.begin(), begins_.end(), first) - begins_.begin() - 1);
    for (; count > 0; ++piece) {
      const Array& array = arrays_[piece][input];
      const std::size_t begin = first - begins_[piece];
      const std::size_t some =
          std::min(count, static_cast<std::size_t>(array.shape[0]) - begin);
      copy_rows(array, begin, some, out);
      out += some * sample_bytes(array.dtype, shape_of(input, first));
      first += some;
      count -= some;
    }
  }

  std::vector<std::vector<Array>> arrays_;  ///< of each piece
  std::vector<std::size_t> begins_;
};

class SpooledSamples final : public PiecedSamples {
 public:
  void append(const Piece& piece) {
    take(piece);
    files_.resize(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!files_[i]) {
        files_[i] = std::make_unique<ScratchFile>();
      }
      write(piece.inputs[i], piece.samples, i);
    }
  }

 private:
  void write(const Array& array, std::size_t samples, std::size_t input) {
    const std::size_t begin = count_ - samples;
    const std::size_t bytes =
        samples == 0 ? 0 : sample_bytes(array.dtype, shape_of(input, begin));
    // Some samples at a time, as memory must not grow with what comes at once.
    const std::size_t step = std::max<std::size_t>(1, (std::size_t{1} << 20) / (bytes + 1));
    std::vector<std::byte> buffer(bytes * std::min(step, samples));
    for (std::size_t first = 0; first < samples; first += step) {
      const std::size_t count = std::min(step, samples - first);
      copy_rows(array, first, count, buffer.data());
      files_[input]->write(bytes_before(input, begin + first),
                           std::span(buffer).first(count * bytes));
    }
  }

  void fetch(std::size_t input, std::size_t first, std::size_t count,
             std::byte* out) const override {
    if (count > 0) {
      const std::size_t bytes = sample_bytes(inputs_[input].dtype, shape_of(input, first));
      files_[input]->read(bytes_before(input, first), std::span(out, count * bytes));
    }
  }

  std::vector<std::unique_ptr<ScratchFile>> files_;
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

std::unique_ptr<Dataset> samples_of_arrays(std::vector<std::vector<Array>> pieces) {
  auto result = std::make_unique<ArraySamples>();
  for (std::vector<Array>& arrays : pieces) {
    result->append(Piece(std::move(arrays)));
  }
  require_samples(*result);
  return result;
}

std::unique_ptr<Dataset> samples_of_stream(
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
