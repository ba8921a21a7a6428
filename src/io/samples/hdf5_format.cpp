// HDF5 files in a folder, which stay open.
#include "io/open_hdf5.h"
#include "io/samples/formats.h"

#include <map>
#include <mutex>
#include <utility>

namespace tare {
namespace {

class Hdf5Format final : public SampleFormat {
 public:
  explicit Hdf5Format(const SampleOptions& options)
      : options_(options.hdf5), model_(options.inputs) {}

  FileContents look_at(const std::filesystem::path& path) const override {
    const Dataset& data = opened(path);
    return {.samples = data.size(),
            .inputs = data.inputs(),
            .several_shapes = data.has_several_shapes()};
  }
  Tensor read(const std::filesystem::path& path, const std::string& input, std::size_t first,
              std::size_t count) const override {
    return opened(path).read(input, first, count);
  }
  std::optional<std::vector<std::int64_t>> labels(
      const std::filesystem::path& path) const override {
    return opened(path).labels();
  }

 private:
  const Dataset& opened(const std::filesystem::path& path) const {
    const std::lock_guard lock(mutex_);
    auto& data = files_[path];
    if (!data) {
      data = open_hdf5(path, options_, [&] { return model_; });
    }
    return *data;
  }

  Hdf5Options options_;
  std::vector<ModelInput> model_;
  mutable std::mutex mutex_;
  mutable std::map<std::filesystem::path, std::unique_ptr<Dataset>> files_;
};

}  // namespace

std::unique_ptr<SampleFormat> hdf5_format(const SampleOptions& options) {
  return std::make_unique<Hdf5Format>(options);
}

}  // namespace tare
