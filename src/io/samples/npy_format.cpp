// One array of NumPy in a file, for a model that has one input.
#include "tare/error.h"

#include "base/input_file.h"
#include "io/samples/batch_axis.h"
#include "io/samples/formats.h"
#include "io/samples/npy.h"

#include <utility>

namespace tare {
namespace {

ArrayBytes bytes_of(const InputFile& file) {
  return {.size = file.size(), .read = [&file](std::uint64_t offset, std::span<std::byte> to) {
            file.read(offset, to);
          }};
}

class NpyFormat final : public SampleFormat {
 public:
  explicit NpyFormat(ModelInput input) : input_(std::move(input)) {}

  FileContents look_at(const std::filesystem::path& path) const override try {
    const InputFile file(path);
    const NpyHeader header = read_npy_header(bytes_of(file));
    const ArrayLayout layout = layout_of(header.shape, &input_);
    return {
        .samples = layout.samples,
        .inputs = {{.name = input_.name, .dtype = header.read_type(), .shape = layout.sample}}};
  } catch (Error& error) {
    if (error.code() == ErrorCode::kInvalidData) {
      error.at(path.string());
    }
    throw;
  }

  Tensor read(const std::filesystem::path& path, const std::string&, std::size_t first,
              std::size_t count) const override try {
    const InputFile file(path);
    const ArrayBytes bytes = bytes_of(file);
    const NpyHeader header = read_npy_header(bytes);
    const ArrayLayout layout = layout_of(header.shape, &input_);
    require_samples(layout, first, count);
    Shape shape = layout.sample;
    const auto elements = static_cast<std::uint64_t>(element_count(shape));
    shape.insert(shape.begin(), static_cast<std::int64_t>(count));
    return read_elements(bytes, header, first * elements, std::move(shape));
  } catch (Error& error) {
    if (error.code() == ErrorCode::kInvalidData) {
      error.at(path.string());
    }
    throw;
  }

 private:
  ModelInput input_;
};

}  // namespace

void require_samples(const ArrayLayout& layout, std::size_t first, std::size_t count) {
  if (first > layout.samples || count > layout.samples - first) {
    throw Error(ErrorCode::kInvalidData, "", "has changed since it was opened");
  }
}

std::unique_ptr<SampleFormat> npy_format(const SampleOptions& options) {
  (void)only_input(options, "a .npy file");
  return std::make_unique<NpyFormat>(inputs_of_arrays(options).front());
}

}  // namespace tare
