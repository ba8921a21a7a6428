#include "pipeline/store/search_checkpoint.h"

#include "tare/error.h"

#include "base/files.h"
#include "base/hash.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "report/report_json.h"

#include <bit>
#include <fstream>
#include <iterator>
#include <string_view>

namespace tare {
namespace {

// A line that names the form and the digest of what follows; then numbers, each with a space
// behind, and texts behind their lengths. Reals are written as their bits.
constexpr std::string_view kForm = "tare search 2 ";

class Writer {
 public:
  const std::string& text() const { return text_; }

  void add(std::uint64_t number) {
    text_ += hexadecimal(number);
    text_ += ' ';
  }
  void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    text_ += text;
  }

 private:
  std::string text_;
};

Error damaged(const std::filesystem::path& path) {
  return Error(ErrorCode::kInvalidData, path.string(),
               "is not a search checkpoint, or is damaged")
      .hint("remove it to start the search anew");
}

class Reader {
 public:
  Reader(const std::filesystem::path& path, std::string_view text) : path_(path), text_(text) {}

  std::uint64_t number() {
    const std::size_t length = std::min(text_.find(' '), text_.size());
    const auto result = parse_hexadecimal(text_.substr(0, length));
    if (!result || length == text_.size()) {
      throw damaged(path_);
    }
    text_.remove_prefix(length + 1);
    return *result;
  }
  double real() { return std::bit_cast<double>(number()); }
  std::string text() {
    const std::size_t length = count();
    std::string result(text_.substr(0, length));
    text_.remove_prefix(length);
    return result;
  }
  /// Of what takes a byte at least.
  std::size_t count() {
    const std::uint64_t result = number();
    if (result > text_.size()) {
      throw damaged(path_);
    }
    return result;
  }
  void end() const {
    if (!text_.empty()) {
      throw damaged(path_);
    }
  }

 private:
  const std::filesystem::path& path_;
  std::string_view text_;
};

void add(const MixedPrecisionPlan& plan, Writer& writer) {
  writer.add(std::uint64_t{plan.float_nodes.size()});
  for (const std::string& node : plan.float_nodes) {
    writer.add(node);
  }
  writer.add(plan.slowdown);
  writer.add(plan.nanoseconds);
  writer.add(plan.error);
  writer.add(plan.integer_share);
}

MixedPrecisionPlan read_plan(Reader& reader) {
  MixedPrecisionPlan plan;
  for (std::size_t left = reader.count(); left > 0; --left) {
    plan.float_nodes.insert(reader.text());
  }
  plan.slowdown = reader.real();
  plan.nanoseconds = reader.real();
  plan.error = reader.real();
  plan.integer_share = reader.real();
  return plan;
}

}  // namespace

std::string text_of(const SearchCheckpoint& checkpoint) {
  Writer writer;
  writer.add(checkpoint.identity.model);
  writer.add(checkpoint.identity.data);
  writer.add(checkpoint.identity.configuration);
  writer.add(std::uint64_t{checkpoint.sensitivities.size()});
  for (const auto& [point, error] : checkpoint.sensitivities) {
    writer.add(point);
    writer.add(error);
  }
  writer.add(std::uint64_t{checkpoint.plans.size()});
  for (const RecordedPlan& searched : checkpoint.plans) {
    add(searched.plan, writer);
    writer.add(searched.report);
  }
  writer.add(std::uint64_t{checkpoint.written.value_or(checkpoint.plans.size())});
  writer.add(std::uint64_t{checkpoint.files.size()});
  for (const auto& [path, digest] : checkpoint.files) {
    writer.add(path);
    writer.add(digest);
  }
  return writer.text();
}

namespace {

/// It is evaluated again, by other requirements, so that it has to be one.
void require_report(const std::string& report, const std::filesystem::path& path) {
  try {
    (void)parse_report(report, path.string());
  } catch (const Error&) {
    throw damaged(path);
  }
}

SearchCheckpoint read(const std::filesystem::path& path, std::string_view body) {
  Reader reader(path, body);
  SearchCheckpoint result;
  result.identity.model = reader.number();
  result.identity.data = reader.number();
  result.identity.configuration = reader.number();
  for (std::size_t left = reader.count(); left > 0; --left) {
    const std::string point = reader.text();
    result.sensitivities.emplace(point, reader.real());
  }
  for (std::size_t left = reader.count(); left > 0; --left) {
    MixedPrecisionPlan plan = read_plan(reader);
    std::string report = reader.text();
    if (!report.empty()) {
      require_report(report, path);
    }
    result.plans.push_back({std::move(plan), std::move(report)});
  }
  const std::uint64_t written = reader.number();
  if (written < result.plans.size()) {
    result.written = written;
  }
  for (std::size_t left = reader.count(); left > 0; --left) {
    std::string file = reader.text();
    result.files.emplace(std::move(file), reader.number());
  }
  reader.end();
  return result;
}

void require(const SearchIdentity& found, const SearchIdentity& expected,
             const std::filesystem::path& path) {
  std::string others;
  for (const auto& [differs, what] :
       {std::pair(found.model != expected.model, "another model"),
        std::pair(found.data != expected.data, "other samples"),
        std::pair(found.configuration != expected.configuration, "another configuration")}) {
    if (differs) {
      others += others.empty() ? "" : " and ";
      others += what;
    }
  }
  if (!others.empty()) {
    throw Error(ErrorCode::kInvalidData, path.string(), "is of a search with " + others)
        .hint("the interrupted command resumes from it; remove it to start anew");
  }
}

}  // namespace

SearchCheckpoint search_checkpoint_of(std::string_view text) {
  return read("another process", text);
}

void write_search_checkpoint(const std::filesystem::path& path,
                             const SearchCheckpoint& checkpoint) {
  const std::string text = text_of(checkpoint);
  OutputFile output(path);
  output.append(std::string(kForm) + hexadecimal(hash(text)) + '\n');
  output.append(text);
  output.commit();
}

SearchCheckpoint read_search_checkpoint(const std::filesystem::path& path,
                                        const SearchIdentity& expected) {
  const std::string bytes = InputFile(path).contents();
  const std::size_t line = bytes.find('\n');
  if (!bytes.starts_with(kForm) || line == std::string::npos) {
    throw damaged(path);
  }
  const std::string_view body = std::string_view(bytes).substr(line + 1);
  if (bytes.substr(kForm.size(), line - kForm.size()) != hexadecimal(hash(body))) {
    throw damaged(path);
  }
  SearchCheckpoint result = read(path, body);
  require(result.identity, expected, path);
  return result;
}

}  // namespace tare
