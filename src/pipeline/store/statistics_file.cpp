#include "tare/error.h"
#include "tare/statistics.h"

#include "base/hash.h"
#include "base/version.h"
#include "io/tensor_file.h"

#include <algorithm>
#include <span>
#include <utility>

namespace tare {
namespace {

constexpr const char* kSchema = "tare statistics 1";
constexpr const char* kValues = "values";
constexpr const char* kVisible = "visible";
constexpr auto kWords = static_cast<std::int64_t>(ExactSum::kWords);

Error invalid(const std::string& what) {
  return {ErrorCode::kInvalidData, "", what};
}

// Columns: one array per field, one row per value or channel.

std::uint64_t digest(const std::string& text) {
  const auto value = parse_hexadecimal(text);
  if (!value) {
    throw invalid("'" + text + "' is no digest");
  }
  return *value;
}

template <class T>
Tensor column(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
}

/// Rows of ExactSum::kWords each, filled one after the other: there may be very many.
class WordRows {
 public:
  explicit WordRows(std::size_t rows)
      : tensor_(DType::kUint64, {static_cast<std::int64_t>(rows), kWords}),
        next_(tensor_.mutable_view<std::uint64_t>().begin()) {}

  void add(const ExactSum& sum) {
    next_ = std::copy(sum.words().begin(), sum.words().end(), next_);
  }
  Tensor take() { return std::move(tensor_); }

 private:
  Tensor tensor_;
  std::span<std::uint64_t>::iterator next_;
};

/// As datasets of that group.
void store_values(const std::string& group,
                  const std::map<std::string, TensorStatistics>& values, TensorFile& file) {
  std::vector<std::string> names;
  std::vector<float> extremes;
  std::vector<std::uint64_t> counts;
  std::vector<std::int32_t> exponents;
  WordRows lows(values.size());
  WordRows highs(values.size());
  const auto rows = static_cast<std::int64_t>(values.size());
  Tensor bins(DType::kUint64, {rows, static_cast<std::int64_t>(TensorStatistics::kBins)});
  auto row = bins.mutable_view<std::uint64_t>().begin();
  for (const auto& [name, statistics] : values) {
    const TensorStatistics::Fields f = statistics.fields();
    names.push_back(name);
    extremes.insert(extremes.end(), {f.low, f.high});
    counts.insert(counts.end(), {f.count, f.zeros, f.nan, f.infinite, f.samples});
    lows.add(f.lows);
    highs.add(f.highs);
    exponents.push_back(f.exponent);
    std::copy(f.bins.begin(), f.bins.end(), row);
    row += TensorStatistics::kBins;
  }
  file.texts[group + "/name"] = names;
  file.tensors[group + "/extremes"] = Tensor::of<float>({rows, 2}, extremes);
  file.tensors[group + "/counts"] = Tensor::of<std::uint64_t>({rows, 5}, counts);
  file.tensors[group + "/sum_of_lows"] = lows.take();
  file.tensors[group + "/sum_of_highs"] = highs.take();
  file.tensors[group + "/bin_exponent"] = column(exponents);
  file.tensors[group + "/bins"] = std::move(bins);
}

void store_channels(const std::map<std::string, ChannelStatistics>& channels,
                    TensorFile& file) {
  std::vector<std::string> names;
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> elements;
  std::vector<float> lows;
  std::vector<float> highs;
  for (const auto& [name, statistics] : channels) {
    names.push_back(name);
    counts.push_back(statistics.channels());
    elements.push_back(statistics.elements());
    lows.insert(lows.end(), statistics.lows().begin(), statistics.lows().end());
    highs.insert(highs.end(), statistics.highs().begin(), statistics.highs().end());
  }
  WordRows sums(lows.size());
  for (const auto& [name, statistics] : channels) {
    for (const ExactSum& sum : statistics.sums()) {
      sums.add(sum);
    }
  }
  file.texts["channels/name"] = names;
  file.tensors["channels/count"] = column(counts);
  file.tensors["channels/elements"] = column(elements);
  file.tensors["channels/low"] = column(lows);
  file.tensors["channels/high"] = column(highs);
  file.tensors["channels/sum"] = sums.take();
}

void store_inputs(const std::map<std::string, Shape>& inputs, TensorFile& file) {
  std::vector<std::string> names;
  std::vector<std::uint64_t> ranks;
  std::vector<std::int64_t> extents;
  for (const auto& [name, shape] : inputs) {
    names.push_back(name);
    ranks.push_back(shape.size());
    extents.insert(extents.end(), shape.begin(), shape.end());
  }
  file.texts["inputs/name"] = names;
  file.tensors["inputs/rank"] = column(ranks);
  file.tensors["inputs/extent"] = column(extents);
}

/// What a file holds, with every name and shape checked.
class Contents {
 public:
  explicit Contents(const TensorFile& file) : file_(file) {}

  const std::string& attribute(const std::string& name) const {
    const auto found = file_.attributes.find(name);
    if (found == file_.attributes.end()) {
      throw invalid("has no attribute '" + name + "'");
    }
    return found->second;
  }
  bool has_names(const std::string& name) const { return file_.texts.contains(name); }
  const std::vector<std::string>& names(const std::string& name) const {
    const auto found = file_.texts.find(name);
    if (found == file_.texts.end()) {
      throw invalid("has no names '" + name + "'");
    }
    return found->second;
  }
  /// `width` 0: rank 1.
  template <class T>
  std::span<const T> rows(const std::string& name, std::size_t count,
                          std::size_t width = 0) const {
    const auto found = file_.tensors.find(name);
    Shape wanted{static_cast<std::int64_t>(count)};
    if (width != 0) {
      wanted.push_back(static_cast<std::int64_t>(width));
    }
    if (found == file_.tensors.end() || found->second.dtype() != DTypeOf<T>::kValue ||
        found->second.shape() != wanted) {
      throw invalid("dataset '" + name + "' is missing or of another kind")
          .expected(std::string(name_of(DTypeOf<T>::kValue)) + to_string(wanted));
    }
    return found->second.view<T>();
  }
  std::vector<ExactSum> sums(const std::string& name, std::size_t count) const {
    const auto all = rows<std::uint64_t>(name, count, ExactSum::kWords);
    std::vector<ExactSum> result;
    for (std::size_t i = 0; i < count; ++i) {
      ExactSum::Words words{};
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(i * words.size()), words.size(),
                  words.begin());
      result.push_back(ExactSum::of(words));
    }
    return result;
  }

 private:
  const TensorFile& file_;
};

std::size_t total(std::span<const std::uint64_t> counts) {
  std::size_t sum = 0;
  for (const std::uint64_t count : counts) {
    if (__builtin_add_overflow(sum, count, &sum)) {
      throw invalid("counts are beyond any file");
    }
  }
  return sum;
}

std::map<std::string, Shape> restore_inputs(const Contents& contents) {
  const auto& names = contents.names("inputs/name");
  const auto ranks = contents.rows<std::uint64_t>("inputs/rank", names.size());
  const auto extents = contents.rows<std::int64_t>("inputs/extent", total(ranks));
  std::map<std::string, Shape> inputs;
  auto next = extents.begin();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto end = next + static_cast<std::ptrdiff_t>(ranks[i]);
    inputs.emplace(names[i], Shape(next, end));
    next = end;
  }
  return inputs;
}

std::map<std::string, TensorStatistics> restore_values(const std::string& group,
                                                       const Contents& contents) {
  const auto& names = contents.names(group + "/name");
  const std::size_t rows = names.size();
  const auto extremes = contents.rows<float>(group + "/extremes", rows, 2);
  const auto counts = contents.rows<std::uint64_t>(group + "/counts", rows, 5);
  const auto lows = contents.sums(group + "/sum_of_lows", rows);
  const auto highs = contents.sums(group + "/sum_of_highs", rows);
  const auto exponents = contents.rows<std::int32_t>(group + "/bin_exponent", rows);
  const auto bins =
      contents.rows<std::uint64_t>(group + "/bins", rows, TensorStatistics::kBins);
  std::map<std::string, TensorStatistics> values;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto own = bins.subspan(i * TensorStatistics::kBins, TensorStatistics::kBins);
    const bool any = std::any_of(own.begin(), own.end(), [](auto bin) { return bin != 0; });
    const auto count = counts.subspan(i * 5, 5);
    try {
      values.emplace(
          names[i],
          TensorStatistics::of({.low = extremes[2 * i],
                                .high = extremes[2 * i + 1],
                                .count = count[0],
                                .zeros = count[1],
                                .nan = count[2],
                                .infinite = count[3],
                                .samples = count[4],
                                .lows = lows[i],
                                .highs = highs[i],
                                .exponent = exponents[i],
                                .bins = any ? std::vector<std::uint64_t>(own.begin(), own.end())
                                            : std::vector<std::uint64_t>{}}));
    } catch (Error& error) {
      error.at("value '" + names[i] + "'");
      throw;
    }
  }
  return values;
}

/// As many numbers of each as of the value; files may have none.
std::map<std::string, TensorStatistics> restore_visible(
    const Contents& contents, const std::map<std::string, TensorStatistics>& values) {
  if (!contents.has_names(std::string(kVisible) + "/name")) {
    return {};
  }
  auto visible = restore_values(kVisible, contents);
  for (const auto& [name, statistics] : visible) {
    const auto whole = values.find(name);
    const std::uint64_t wanted = whole == values.end() ? 0 : whole->second.observed();
    if (statistics.observed() != wanted) {
      throw invalid("the visible part of '" + name + "' counts " +
                    std::to_string(statistics.observed()))
          .expected(std::to_string(wanted) + ", as the value does");
    }
  }
  return visible;
}

std::map<std::string, ChannelStatistics> restore_channels(const Contents& contents) {
  const auto& names = contents.names("channels/name");
  const auto counts = contents.rows<std::uint64_t>("channels/count", names.size());
  const auto elements = contents.rows<std::uint64_t>("channels/elements", names.size());
  const std::size_t all = total(counts);
  const auto lows = contents.rows<float>("channels/low", all);
  const auto highs = contents.rows<float>("channels/high", all);
  const std::vector<ExactSum> sums = contents.sums("channels/sum", all);
  std::map<std::string, ChannelStatistics> channels;
  std::size_t first = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(first);
    first += counts[i];
    const auto end = static_cast<std::ptrdiff_t>(first);
    channels.emplace(
        names[i], ChannelStatistics::of(elements[i], {lows.begin() + begin, lows.begin() + end},
                                        {highs.begin() + begin, highs.begin() + end},
                                        {sums.begin() + begin, sums.begin() + end}));
  }
  return channels;
}

}  // namespace

void write_statistics(const std::filesystem::path& path, const Statistics& statistics) {
  TensorFile file;
  file.attributes = {{"schema", kSchema},
                     {"tool", "tare " + version()},
                     {"model", hexadecimal(statistics.model)},
                     {"data", hexadecimal(statistics.data)}};
  file.tensors["samples"] = Tensor::scalar<std::uint64_t>(statistics.samples);
  store_inputs(statistics.inputs, file);
  store_values(kValues, statistics.values, file);
  if (!statistics.visible.empty()) {
    store_values(kVisible, statistics.visible, file);
  }
  store_channels(statistics.channels, file);
  write_tensor_file(path, file);
}

Statistics read_statistics(const std::filesystem::path& path, const Hdf5Options& options) {
  const TensorFile file = read_tensor_file(path, kSchema, options);
  try {
    const Contents contents(file);
    Statistics statistics;
    statistics.model = digest(contents.attribute("model"));
    statistics.data = digest(contents.attribute("data"));
    const auto samples = file.tensors.find("samples");
    if (samples == file.tensors.end() || samples->second.dtype() != DType::kUint64 ||
        samples->second.size() != 1) {
      throw invalid("has no number of samples");
    }
    statistics.samples = samples->second.view<std::uint64_t>()[0];
    statistics.inputs = restore_inputs(contents);
    statistics.values = restore_values(kValues, contents);
    statistics.visible = restore_visible(contents, statistics.values);
    statistics.channels = restore_channels(contents);
    return statistics;
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

}  // namespace tare
