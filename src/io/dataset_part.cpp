#include "tare/dataset.h"

#include "base/check.h"

namespace tare {
namespace {

class DatasetPart final : public Dataset {
 public:
  DatasetPart(const Dataset& whole, std::size_t first, std::size_t count)
      : whole_(whole), first_(first), count_(count) {
    check(first + count <= whole.size(), "a part of a dataset is beyond its end");
  }

  std::size_t size() const override { return count_; }
  const std::vector<DatasetInput>& inputs() const override { return whole_.inputs(); }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override {
    return whole_.read(input, first_ + first, count);
  }
  std::optional<std::vector<std::int64_t>> labels() const override {
    const auto all = whole_.labels();
    if (!all) {
      return std::nullopt;
    }
    const auto begin = all->begin() + static_cast<std::ptrdiff_t>(first_);
    return std::vector(begin, begin + static_cast<std::ptrdiff_t>(count_));
  }

 private:
  const Dataset& whole_;
  std::size_t first_;
  std::size_t count_;
};

}  // namespace

std::unique_ptr<Dataset> part_of(const Dataset& whole, std::size_t first, std::size_t count) {
  return std::make_unique<DatasetPart>(whole, first, count);
}

}  // namespace tare
