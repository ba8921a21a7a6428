// A command with {model} in it, such as `trtexec --onnx={model}`: it is run for each time that
// is wanted, and what it prints says how long the model took.
#include "tare/error.h"

#include "engine/child_process.h"
#include "engine/engine.h"

#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace tare {
namespace {

constexpr std::string_view kPlaceholder = "{model}";

std::string lower_case(std::string text) {
  for (char& letter : text) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  return text;
}

double unit_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 10> kUnits{{{"nanoseconds", 1},
                                                                        {"ns", 1},
                                                                        {"microseconds", 1e3},
                                                                        {"us", 1e3},
                                                                        {"milliseconds", 1e6},
                                                                        {"msec", 1e6},
                                                                        {"ms", 1e6},
                                                                        {"seconds", 1e9},
                                                                        {"sec", 1e9},
                                                                        {"s", 1e9}}};
  for (const auto& [name, factor] : kUnits) {
    const bool ends = text.size() == name.size() ||
                      (text.size() > name.size() &&
                       std::isalpha(static_cast<unsigned char>(text[name.size()])) == 0);
    if (text.starts_with(name) && ends) {
      return factor;
    }
  }
  return 0;
}

/// The first number with a unit behind a place in a text, in the same line.
std::optional<double> time_behind(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(line[i])) == 0) {
      continue;
    }
    double value = 0;
    const auto [rest, error] = std::from_chars(&line[i], line.data() + line.size(), value);
    if (error != std::errc{}) {
      return std::nullopt;
    }
    const std::string_view behind = trimmed({rest, line.data() + line.size()});
    const double unit = unit_of(behind);
    return unit > 0 && value > 0 ? std::optional(value * unit) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> json_median(const std::string& text) {
  const std::size_t start = text.rfind("\n{") == std::string::npos ? 0 : text.rfind("\n{") + 1;
  const auto json = nlohmann::json::parse(text.substr(start), nullptr, false);
  const auto median = json.is_object() ? json.find("median") : json.end();
  return json.is_object() && median != json.end() && median->is_number() &&
                 median->get<double>() > 0
             ? std::optional(median->get<double>())
             : std::nullopt;
}

/// For the shell, which it keeps from reading anything in it.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) {
    result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return result + "'";
}

class CommandEngine final : public Engine {
 public:
  explicit CommandEngine(const EngineOptions& options)
      : options_(options),
        facts_{.name = options.engine.substr(0, options.engine.find(' ')),
               .version = "",
               .processor = processor_name(),
               .threads = options.threads} {}

  const EngineFacts& facts() const override { return facts_; }
  bool is_broken() const override { return false; }

  LoadedModel load(const std::filesystem::path& path, const ModelInputs&) override {
    const LoadedModel model{next_++};
    files_[model.index] = std::filesystem::absolute(path);
    try {
      run(model);
    } catch (...) {
      files_.erase(model.index);
      throw;
    }
    return model;
  }

  void unload(LoadedModel model) override { files_.erase(model.index); }

  std::vector<std::vector<double>> time(std::span<const LoadedModel> models,
                                        std::span<const std::size_t>,
                                        std::size_t rounds) override {
    std::vector<std::vector<double>> result(models.size());
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < models.size(); ++i) {
        const std::size_t turn = round % 2 == 0 ? i : models.size() - 1 - i;
        result[turn].push_back(run(models[turn]));
      }
    }
    return result;
  }

 private:
  double run(LoadedModel model) const {
    std::string command = options_.engine;
    const std::string file = quoted(files_.at(model.index).string());
    for (std::size_t at = command.find(kPlaceholder); at != std::string::npos;
         at = command.find(kPlaceholder, at + file.size())) {
      command.replace(at, kPlaceholder.size(), file);
    }
    ChildProcess process(command);
    const auto printed = process.read_all(
        ChildProcess::Clock::now() + std::chrono::duration_cast<ChildProcess::Clock::duration>(
                                         std::chrono::duration<double>(options_.patience)));
    const std::string place = "engine '" + options_.engine + "'";
    if (!printed) {
      throw Error(ErrorCode::kUnsupported, place, process.failure());
    }
    const auto time = printed_nanoseconds(*printed);
    if (!time) {
      throw Error(ErrorCode::kUnsupported, place, "prints no time")
          .expected(
              "a line of JSON with 'median' in nanoseconds, or 'median' or 'mean' with a "
              "number and a unit");
    }
    return *time;
  }

  EngineOptions options_;
  EngineFacts facts_;
  std::map<std::size_t, std::filesystem::path> files_;
  std::size_t next_ = 0;
};

}  // namespace

std::optional<double> printed_nanoseconds(const std::string& text) {
  if (const auto median = json_median(text)) {
    return median;
  }
  const std::string small = lower_case(text);
  for (const std::string_view word : {"median", "mean", "average", "avg"}) {
    for (std::size_t at = small.rfind(word); at != std::string::npos;
         at = at == 0 ? std::string::npos : small.rfind(word, at - 1)) {
      if (const auto time = time_behind(std::string_view(small).substr(at + word.size()))) {
        return time;
      }
    }
  }
  return std::nullopt;
}

std::unique_ptr<Engine> open_command_engine(const EngineOptions& options) {
  return std::make_unique<CommandEngine>(options);
}

}  // namespace tare
