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

  /// Its size matters only where it is kept.
  FileContents look_at(const std::filesystem::path& path) const override {
    require_readable(path, "a picture");
    if (plan_.fit != Fit::kNone) {
      return {.samples = 1, .inputs = {plan_.input}};
    }
    const PictureSize size = size_of_picture(path);
    try {
      return {.samples = 1, .inputs = {sample_of_size(sample_size(size, plan_), plan_)}};
    } catch (Error& error) {
      error.at(path.string());
      throw;
    }
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
