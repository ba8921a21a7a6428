// Talks to an engine by lines of JSON, as docs/engines.md describes them. Whatever it answers
// is checked: numbers of samples, types, times that are numbers above 0.
#include "tare/error.h"
#include "tare/model_files.h"

#include "base/input_file.h"
#include "engine/base64.h"
#include "engine/child_process.h"
#include "engine/engine.h"
#include "graph/operators/float_types.h"

#include <array>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace tare {
namespace {

using Json = nlohmann::json;

constexpr int kProtocol = 1;

const char* type_name(DType dtype) {
  constexpr std::array<std::pair<DType, const char*>, 13> kNames{
      {{DType::kFloat32, "float32"},
       {DType::kFloat64, "float64"},
       {DType::kFloat16, "float16"},
       {DType::kInt8, "int8"},
       {DType::kUint8, "uint8"},
       {DType::kInt16, "int16"},
       {DType::kUint16, "uint16"},
       {DType::kInt32, "int32"},
       {DType::kUint32, "uint32"},
       {DType::kInt64, "int64"},
       {DType::kUint64, "uint64"},
       {DType::kBool, "bool"},
       {DType::kBfloat16, "bfloat16"}}};
  for (const auto& [known, name] : kNames) {
    if (known == dtype) {
      return name;
    }
  }
  return "unknown";
}

/// Graphs compute in float32 whatever the file has (in_float32()), engines do not. What is
/// wrong with a file is theirs to say.
void as_declared(const std::filesystem::path& model, ModelInputs& inputs) try {
  for (const ModelInput& input : model_inputs(model)) {
    for (auto& [name, values] : inputs) {
      if (name == input.name && is_float(input.dtype) && is_float(values.dtype())) {
        values = in_float_type(values, input.dtype);
      }
    }
  }
} catch (const Error&) {
}

Json described_inputs(const ModelInputs& inputs) {
  Json list = Json::array();
  for (const auto& [name, values] : inputs) {
    list.push_back({{"name", name},
                    {"type", type_name(values.dtype())},
                    {"shape", values.shape()},
                    {"data", base64(std::span(values.data(), values.byte_size()))}});
  }
  return list;
}

class ProtocolEngine final : public Engine {
 public:
  ProtocolEngine(std::string name, const std::string& command, const EngineOptions& options)
      : name_(std::move(name)), options_(options), process_(command) {
    const Json answer =
        ask({{"request", "open"}, {"protocol", kProtocol}, {"threads", options.threads}});
    refuse_error(answer);
    facts_ = {.name = text(answer, "engine"),
              .version = text(answer, "version"),
              .processor = text(answer, "processor"),
              .threads = static_cast<int>(number(answer, "threads"))};
  }

  const EngineFacts& facts() const override { return facts_; }
  bool is_broken() const override { return is_broken_; }

  LoadedModel load(const std::filesystem::path& path, const ModelInputs& inputs) override {
    const std::filesystem::path whole = std::filesystem::absolute(path);
    ModelInputs declared = inputs;
    as_declared(whole, declared);
    const LoadedModel model{next_++};
    Json request{{"request", "load"},
                 {"model", key(model)},
                 {"file", whole.string()},
                 {"bytes", std::filesystem::file_size(whole)},
                 {"inputs", described_inputs(declared)}};
    Json answer = ask(request);
    if (answer.contains("missing")) {
      request["content"] = base64(std::string_view(InputFile(whole).contents()));
      answer = ask(request);
    }
    refuse_error(answer);
    return model;
  }

  void unload(LoadedModel model) override {
    if (!is_broken_) {
      ask({{"request", "unload"}, {"model", key(model)}});
    }
  }

  std::vector<std::vector<double>> time(std::span<const LoadedModel> models,
                                        std::span<const std::size_t> runs,
                                        std::size_t rounds) override {
    Json names = Json::array();
    for (const LoadedModel model : models) {
      names.push_back(key(model));
    }
    const Json answer = ask({{"request", "time"},
                             {"models", names},
                             {"runs", std::vector<std::size_t>(runs.begin(), runs.end())},
                             {"rounds", rounds}});
    refuse_error(answer);
    // Medians are one sample for all rounds.
    const char* kind = answer.contains("nanoseconds") ? "nanoseconds" : "quartiles";
    const auto lists = answer.find(kind);
    if (lists == answer.end() || !lists->is_array() || lists->size() != models.size()) {
      nonsense("says no 'nanoseconds' of " + std::to_string(models.size()) + " models");
    }
    std::vector<std::vector<double>> result;
    for (const Json& list : *lists) {
      const std::vector<double> values = times(list);
      if (std::string_view(kind) == "quartiles") {
        constexpr std::size_t kQuartiles = 3;
        require(values.size() == kQuartiles, "gives other than three 'quartiles'");
        result.push_back({values[1]});
      } else {
        require(values.size() == rounds, "gives " + std::to_string(values.size()) +
                                             " samples of " + std::to_string(rounds));
        result.push_back(values);
      }
    }
    return result;
  }

 private:
  static std::string key(LoadedModel model) {
    std::string result =
        "m";  // GCC 12 warns without cause of what it makes of "m" + std::string
    return result.append(std::to_string(model.index));
  }

  std::vector<double> times(const Json& list) {
    require(list.is_array(), "gives samples that are no list");
    std::vector<double> values;
    for (const Json& value : list) {
      require(value.is_number(), "gives samples that are no numbers");
      values.push_back(value.get<double>());
      require(std::isfinite(values.back()) && values.back() > 0,
              "gives times that are not above 0");
    }
    return values;
  }

  Json ask(const Json& request) {
    const auto deadline =
        ChildProcess::Clock::now() + std::chrono::duration_cast<ChildProcess::Clock::duration>(
                                         std::chrono::duration<double>(options_.patience));
    const std::string line =
        request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    std::optional<std::string> answer;
    if (process_.write(line, deadline)) {
      answer = process_.read_line(deadline);
    }
    if (!answer) {
      is_broken_ = true;
      throw Error(ErrorCode::kUnsupported, place(), process_.failure());
    }
    Json json = Json::parse(*answer, nullptr, false);
    if (!json.is_object()) {
      constexpr std::size_t kShown = 60;
      nonsense("answers '" + answer->substr(0, kShown) + "'");
    }
    return json;
  }

  void refuse_error(const Json& answer) const {
    const auto error = answer.find("error");
    if (error != answer.end()) {
      throw Error(ErrorCode::kUnsupported, place(),
                  error->is_string() ? error->get<std::string>() : error->dump());
    }
  }

  std::string text(const Json& answer, const char* name) {
    const auto found = answer.find(name);
    require(found != answer.end() && found->is_string(),
            std::string("does not say '") + name + "' when it starts");
    return found->get<std::string>();
  }

  double number(const Json& answer, const char* name) {
    const auto found = answer.find(name);
    require(found != answer.end() && found->is_number() && found->get<double>() >= 1 &&
                found->get<double>() < std::numeric_limits<int>::max(),
            std::string("does not say '") + name + "' when it starts");
    return found->get<double>();
  }

  void require(bool holds, const std::string& otherwise) {
    if (!holds) {
      nonsense(otherwise);
    }
  }

  [[noreturn]] void nonsense(const std::string& what) {
    is_broken_ = true;
    throw Error(ErrorCode::kUnsupported, place(), what)
        .expected("a line of JSON as docs/engines.md describes it");
  }

  std::string place() const { return "engine '" + name_ + "'"; }

  std::string name_;
  EngineOptions options_;
  ChildProcess process_;
  EngineFacts facts_;
  std::size_t next_ = 0;
  bool is_broken_ = false;
};

}  // namespace

std::unique_ptr<Engine> open_protocol_engine(const std::string& name,
                                             const std::string& command,
                                             const EngineOptions& options) {
  return std::make_unique<ProtocolEngine>(name, command, options);
}

}  // namespace tare
