// Views of a data set: some samples, evenly spread, in their order. Neighbours are read
// together.
#include "tare/dataset.h"

#include "base/check.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

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
  bool has_several_shapes() const override { return whole_.has_several_shapes(); }
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

/// Some samples of a dataset, in their order.
class ChosenSamples final : public Dataset {
 public:
  ChosenSamples(const Dataset& whole, std::vector<std::size_t> samples)
      : whole_(whole), samples_(std::move(samples)) {}

  std::size_t size() const override { return samples_.size(); }
  const std::vector<DatasetInput>& inputs() const override { return whole_.inputs(); }
  bool has_several_shapes() const override { return whole_.has_several_shapes(); }

  /// Neighbours are read at once.
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override {
    check(first + count <= samples_.size(), "a sample of a dataset is beyond its end");
    Tensor result = whole_.read(input, samples_[first], neighbours(first, count));
    if (neighbours(first, count) == count) {
      return result;
    }
    Shape shape = result.shape();
    shape[0] = static_cast<std::int64_t>(count);
    Tensor all(result.dtype(), shape);
    auto* to = all.mutable_data();
    for (std::size_t done = 0; done < count;) {
      const std::size_t next = neighbours(first + done, count - done);
      const Tensor part = done == 0 ? result : whole_.read(input, samples_[first + done], next);
      to = std::copy(part.data(), part.data() + part.byte_size(), to);
      done += next;
    }
    return all;
  }

  std::optional<std::vector<std::int64_t>> labels() const override {
    const auto all = whole_.labels();
    if (!all) {
      return std::nullopt;
    }
    std::vector<std::int64_t> chosen;
    std::transform(samples_.begin(), samples_.end(), std::back_inserter(chosen),
                   [&](std::size_t sample) { return all->at(sample); });
    return chosen;
  }

 private:
  /// How many of the next ones stand side by side.
  std::size_t neighbours(std::size_t first, std::size_t count) const {
    std::size_t found = 1;
    while (found < count && samples_[first + found] == samples_[first] + found) {
      ++found;
    }
    return count == 0 ? 0 : found;
  }

  const Dataset& whole_;
  std::vector<std::size_t> samples_;
};

/// The middle one of each of `count` shares of `size` samples.
std::vector<std::size_t> spread(std::size_t size, std::size_t count) {
  check(count <= size, "more samples are to be spread over a dataset than it has");
  std::vector<std::size_t> samples;
  for (std::size_t i = 0; i < count; ++i) {
    samples.push_back((2 * i + 1) * size / (2 * count));
  }
  return samples;
}

}  // namespace

std::unique_ptr<Dataset> evenly_spaced(const Dataset& whole, std::size_t count) {
  return std::make_unique<ChosenSamples>(whole, spread(whole.size(), count));
}

std::unique_ptr<Dataset> without_evenly_spaced(const Dataset& whole, std::size_t count) {
  const std::vector<std::size_t> taken = spread(whole.size(), count);
  std::vector<std::size_t> all(whole.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::size_t> others;
  std::set_difference(all.begin(), all.end(), taken.begin(), taken.end(),
                      std::back_inserter(others));
  return std::make_unique<ChosenSamples>(whole, std::move(others));
}

std::unique_ptr<Dataset> part_of(const Dataset& whole, std::size_t first, std::size_t count) {
  return std::make_unique<DatasetPart>(whole, first, count);
}

}  // namespace tare
