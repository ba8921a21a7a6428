// HDF5 files in a folder, which stay open.
#include "io/samples/formats.h"

#include <map>
#include <mutex>
#include <utility>

namespace tare {
namespace {

class Hdf5Format final : public SampleFormat {
 public:
  explicit Hdf5Format(Hdf5Options options) : options_(options) {}

  FileContents look_at(const std::filesystem::path& path) const override {
    const Dataset& data = opened(path);
    return {.samples = data.size(), .inputs = data.inputs()};
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
      data = open_dataset(path, options_);
    }
    return *data;
  }

  Hdf5Options options_;
  mutable std::mutex mutex_;
  mutable std::map<std::filesystem::path, std::unique_ptr<Dataset>> files_;
};

}  // namespace

std::unique_ptr<SampleFormat> hdf5_format(const SampleOptions& options) {
  return std::make_unique<Hdf5Format>(options.hdf5);
}

}  // namespace tare
