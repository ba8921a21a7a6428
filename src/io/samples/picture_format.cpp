#include "tare/error.h"

#include "base/files.h"
#include "io/samples/formats.h"
#include "io/samples/picture_plan.h"

#include <utility>

namespace tare {
namespace {

class PictureFormat final : public SampleFormat {
 public:
  explicit PictureFormat(PicturePlan plan) : plan_(std::move(plan)) {}

  /// Whatever its size is, the picture becomes the same kind of sample.
  FileContents look_at(const std::filesystem::path& path) const override {
    require_readable(path, "a picture");
    return {.samples = 1, .inputs = {plan_.input}};
  }
  Tensor read(const std::filesystem::path& path, const std::string&, std::size_t,
              std::size_t) const override {
    return normalized_bytes(prepared_bytes(read_picture(path), plan_), plan_);
  }

 private:
  PicturePlan plan_;
};

}  // namespace

std::unique_ptr<SampleFormat> picture_format(const SampleOptions& options) {
  const ModelInput& input = only_input(options, "pictures");
  return std::make_unique<PictureFormat>(
      plan_pictures(input, preparation_of(options, input.name), options.notice));
}

}  // namespace tare
