// A line that names the form and the work; then records, each behind its length and digest.
// Records are appended, as what was decided never changes: rewriting the file at each level
// would write the square of the weights. What a kill leaves half written fails its digest and
// is cut off.
#include "pipeline/store/quantize_checkpoint.h"

#include "tare/error.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/input_file.h"
#include "calibrate/statistics/shares.h"
#include "pipeline/store/search_checkpoint.h"

#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace tare {
namespace {

constexpr std::string_view kQuantizeForm = "tare quantize 2 ";

Error cannot_write(const std::filesystem::path& path, int error) {
  return {ErrorCode::kIo, path.string(),
          "cannot be written: " + std::generic_category().message(error)};
}

void write_fully(int file, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      throw cannot_write(path, errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void add_params(const QuantParams& params, ByteWriter& writer) {
  writer.add(params.storage);
  writer.add_all(std::span<const float>(params.scale));
  writer.add_all(std::span<const std::int32_t>(params.zero_point));
  writer.add(params.axis.value_or(-1));
  writer.add(params.block);
  writer.add(params.narrow_range);
  writer.add(params.bits);
}

QuantParams read_params(ByteReader& reader) {
  QuantParams params;
  params.storage = reader.get<DType>();
  params.scale = reader.get_all<float>();
  params.zero_point = reader.get_all<std::int32_t>();
  const int axis = reader.get<int>();
  params.axis = axis < 0 ? std::nullopt : std::optional(axis);
  params.block = reader.get<int>();
  params.narrow_range = reader.get<bool>();
  params.bits = reader.get<int>();
  return params;
}

void add_result(const PointResult& result, ByteWriter& writer) {
  writer.add(result.enabled);
  add_params(result.params, writer);
  writer.add_all(std::span<const Range>(result.observed));
  writer.add_all(std::span<const Range>(result.calibrated));
  writer.add(result.clipped.has_value());
  writer.add(result.clipped.value_or(Clipped{}));
  writer.add_text(result.calibrator);
  writer.add(result.is_exact);
  writer.add(result.elements);
  writer.add_all(std::span<const int>(result.widened_channels));
  writer.add_all(std::span<const std::int8_t>(result.rounding));
  writer.add_all(std::span<const float>(result.bias_correction));
}

PointResult read_result(ByteReader& reader) {
  PointResult result;
  result.enabled = reader.get<bool>();
  result.params = read_params(reader);
  result.observed = reader.get_all<Range>();
  result.calibrated = reader.get_all<Range>();
  const bool has_clipped = reader.get<bool>();
  const auto clipped = reader.get<Clipped>();
  result.clipped = has_clipped ? std::optional(clipped) : std::nullopt;
  result.calibrator = reader.get_text();
  result.is_exact = reader.get<bool>();
  result.elements = reader.get<std::uint64_t>();
  result.widened_channels = reader.get_all<int>();
  result.rounding = reader.get_all<std::int8_t>();
  result.bias_correction = reader.get_all<float>();
  return result;
}

std::string bytes_of(const LevelDecisions& decisions) {
  ByteWriter writer;
  writer.add(std::uint64_t{decisions.table.size()});
  for (const auto& [name, result] : decisions.table) {
    writer.add_text(name);
    add_result(result, writer);
  }
  writer.add(std::uint64_t{decisions.candidates.size()});
  for (const auto& [name, results] : decisions.candidates) {
    writer.add_text(name);
    writer.add(std::uint64_t{results.size()});
    for (const PointResult& result : results) {
      add_result(result, writer);
    }
  }
  writer.add(std::uint64_t{decisions.means.size()});
  for (const auto& [name, means] : decisions.means) {
    writer.add_text(name);
    writer.add_all(std::span<const double>(means.all));
    writer.add_all(std::span<const double>(means.holdout));
    writer.add(means.share);
  }
  writer.add(std::uint64_t{decisions.warnings.size()});
  for (const Warning& warning : decisions.warnings) {
    writer.add_text(warning.kind);
    writer.add_text(warning.where);
    writer.add_text(warning.what);
  }
  return writer.take();
}

LevelDecisions read_decisions(std::string_view bytes) {
  ByteReader reader(bytes);
  LevelDecisions result;
  for (std::size_t left = reader.counted(1); left > 0; --left) {
    std::string name = reader.get_text();
    result.table.emplace(std::move(name), read_result(reader));
  }
  for (std::size_t left = reader.counted(1); left > 0; --left) {
    std::vector<PointResult>& results = result.candidates[reader.get_text()];
    for (std::size_t more = reader.counted(1); more > 0; --more) {
      results.push_back(read_result(reader));
    }
  }
  for (std::size_t left = reader.counted(1); left > 0; --left) {
    ChannelMeans& means = result.means[reader.get_text()];
    means.all = reader.get_all<double>();
    means.holdout = reader.get_all<double>();
    means.share = reader.get<double>();
  }
  for (std::size_t left = reader.counted(1); left > 0; --left) {
    Warning& warning = result.warnings.emplace_back();
    warning.kind = reader.get_text();
    warning.where = reader.get_text();
    warning.what = reader.get_text();
  }
  return result;
}

/// The records of such work that are whole, and how many bytes come before what is not.
std::pair<std::vector<std::string>, std::size_t> whole_records(std::string_view bytes,
                                                               std::string_view head) {
  std::vector<std::string> records;
  if (!bytes.starts_with(head)) {
    return {std::move(records), 0};
  }
  std::size_t end = head.size();
  try {
    ByteReader reader(bytes.substr(end));
    while (!reader.is_at_end()) {
      const auto digest = reader.get<std::uint64_t>();
      std::string record = reader.get_text();
      if (hash(record) != digest) {
        break;
      }
      end += 2 * sizeof(std::uint64_t) + record.size();
      records.push_back(std::move(record));
    }
  } catch (const Error&) {
    // It was killed while it wrote the last one.
  }
  return {std::move(records), end};
}

}  // namespace

QuantizeCheckpoint::QuantizeCheckpoint(const Graph& model, const Dataset& data,
                                       const Config& config, const CalibrateOptions& options)
    : path_(options.checkpoint) {
  if (path_.empty()) {
    return;
  }
  if (is_first(options.communicator)) {
    Config used = config;
    if (options.samples != 0) {
      used.samples = static_cast<std::int64_t>(options.samples);
    }
    const SearchIdentity identity = search_identity(model, data, used, options.plugins);
    open(
        hash(hexadecimal(identity.model) + hexadecimal(identity.data), identity.configuration));
  }
  if (options.communicator != nullptr) {
    ByteWriter writer;
    for (const std::string& record : known_) {
      writer.add_text(record);
    }
    const std::string records = of_first(writer.take(), options.communicator);
    ByteReader reader(records);
    known_.clear();
    while (!reader.is_at_end()) {
      known_.push_back(reader.get_text());
    }
  }
}

QuantizeCheckpoint::~QuantizeCheckpoint() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

void QuantizeCheckpoint::open(std::uint64_t identity) {
  const std::string head = std::string(kQuantizeForm) + hexadecimal(identity) + '\n';
  std::size_t end = 0;
  if (std::filesystem::exists(path_)) {
    std::tie(known_, end) = whole_records(InputFile(path_).contents(), head);
  }
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ >= 0 &&
      (::ftruncate(file_, static_cast<off_t>(end)) != 0 || ::lseek(file_, 0, SEEK_END) < 0)) {
    discard();
  }
  if (end == 0) {
    write(head);
  }
}

/// What cannot be kept is no reason to do without the rest.
void QuantizeCheckpoint::write(const std::string& bytes) {
  if (file_ < 0) {
    return;
  }
  try {
    write_fully(file_, bytes, path_);
  } catch (const Error&) {
    discard();
  }
}

void QuantizeCheckpoint::discard() {
  if (file_ >= 0) {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    ::close(std::exchange(file_, -1));
  }
}

void QuantizeCheckpoint::append(const std::string& record) {
  if (file_ >= 0) {
    ByteWriter head;
    head.add(hash(record));
    head.add(std::uint64_t{record.size()});
    write(head.take());
    write(record);
  }
}

std::optional<std::string> QuantizeCheckpoint::next_record() {
  return place_ < known_.size() ? std::optional(std::move(known_[place_++])) : std::nullopt;
}

std::optional<PreparedPlan> QuantizeCheckpoint::plan() {
  const auto record = next_record();
  if (!record) {
    return std::nullopt;
  }
  ByteReader reader(*record);
  PreparedPlan plan;
  for (std::size_t left = reader.counted(1); left > 0; --left) {
    std::string name = reader.get_text();
    plan.factors.emplace(std::move(name), reader.get_all<float>());
  }
  for (std::size_t left = reader.counted(1); left > 0; --left) {
    plan.float_nodes.insert(reader.get_text());
  }
  for (std::size_t left = reader.counted(1); left > 0; --left) {
    plan.wide_values.insert(reader.get_text());
  }
  return plan;
}

void QuantizeCheckpoint::add(const PreparedPlan& plan) {
  ByteWriter writer;
  writer.add(std::uint64_t{plan.factors.size()});
  for (const auto& [name, factors] : plan.factors) {
    writer.add_text(name);
    writer.add_all(std::span<const float>(factors));
  }
  for (const auto* names : {&plan.float_nodes, &plan.wide_values}) {
    writer.add(std::uint64_t{names->size()});
    for (const std::string& name : *names) {
      writer.add_text(name);
    }
  }
  append(writer.take());
}

std::optional<LevelDecisions> QuantizeCheckpoint::next() {
  const auto record = next_record();
  return record ? std::optional(read_decisions(*record)) : std::nullopt;
}

void QuantizeCheckpoint::add(const LevelDecisions& decisions) {
  append(bytes_of(decisions));
}

}  // namespace tare
