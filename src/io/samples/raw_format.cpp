// Files of nothing but numbers, lowest byte first; their shape is said elsewhere.
#include "tare/error.h"

#include "base/input_file.h"
#include "io/samples/formats.h"
#include "io/samples/npy.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

class RawFormat final : public SampleFormat {
 public:
  RawFormat(std::string name, DType stored, Shape shape)
      : name_(std::move(name)),
        header_{.dtype = stored, .shape = std::move(shape), .data = 0} {}

  FileContents look_at(const std::filesystem::path& path) const override {
    const InputFile file(path);
    return {.samples = samples_in(file, path),
            .inputs = {{.name = name_, .dtype = header_.read_type(), .shape = header_.shape}}};
  }

  Tensor read(const std::filesystem::path& path, const std::string&, std::size_t first,
              std::size_t count) const override {
    const InputFile file(path);
    const ArrayLayout layout{.samples = samples_in(file, path), .sample = header_.shape};
    try {
      require_samples(layout, first, count);
    } catch (Error& error) {
      error.at(path.string());
      throw;
    }
    Shape shape = header_.shape;
    const auto elements = static_cast<std::uint64_t>(element_count(shape));
    shape.insert(shape.begin(), static_cast<std::int64_t>(count));
    const ArrayBytes bytes{
        .size = file.size(),
        .read = [&](std::uint64_t offset, std::span<std::byte> to) { file.read(offset, to); }};
    return read_elements(bytes, header_, first * elements, std::move(shape));
  }

 private:
  std::size_t samples_in(const InputFile& file, const std::filesystem::path& path) const {
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(element_count(header_.shape)) * size_of(header_.dtype);
    if (file.size() == 0 || file.size() % bytes != 0) {
      throw Error(ErrorCode::kInvalidData, path.string(),
                  "holds " + std::to_string(file.size()) + " bytes")
          .expected("a multiple of " + std::to_string(bytes) + ", those of a sample of " +
                    std::string(name_of(header_.dtype)) + " of shape " +
                    to_string(header_.shape));
    }
    return static_cast<std::size_t>(file.size() / bytes);
  }

  std::string name_;
  NpyHeader header_;
};

/// What is said, or what the model says behind its batch.
Shape raw_shape(const ModelInput& input, const InputPreparation& said) {
  if (!said.shape.empty()) {
    return said.shape;
  }
  const bool has_rank = input.shape && !input.shape->empty();
  Shape shape;
  if (has_rank) {
    shape.assign(input.shape->begin() + 1, input.shape->end());
  }
  if ((!input.shape) ||
      std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; })) {
    throw Error(ErrorCode::kInvalidConfig, "input '" + input.name + "'",
                "files of raw numbers do not say which shape their samples have")
        .hint("say it in the configuration: inputs: {" + input.name +
              ": {shape: [3, 224, 224]}}");
  }
  return shape;
}

}  // namespace

std::unique_ptr<SampleFormat> raw_format(const SampleOptions& options) {
  const ModelInput& input = only_input(options, "a file of raw numbers");
  const InputPreparation& said = preparation_of(options, input.name);
  Shape shape = raw_shape(input, said);
  constexpr std::int64_t kMostElements = std::int64_t{1} << 30;
  if (!is_addressable(shape) || element_count(shape) > kMostElements ||
      element_count(shape) == 0) {
    throw Error(ErrorCode::kInvalidConfig, "input '" + input.name + "'",
                "samples would have shape " + to_string(shape))
        .expected("1 to 2^30 elements");
  }
  return std::make_unique<RawFormat>(input.name, said.dtype.value_or(input.dtype),
                                     std::move(shape));
}

}  // namespace tare
