// The executor of this library as an engine: each model runs on the calling thread, a quantized
// one as its integer graph.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/quantize.h"

#include "base/version.h"
#include "engine/engine.h"
#include "engine/model_inputs.h"

#include <chrono>
#include <map>

namespace tare {
namespace {

struct OwnModel {
  explicit OwnModel(const Graph& graph) : executable(graph), workspace(executable) {}

  double run(std::size_t runs) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < runs; ++i) {
      executable.run(workspace, inputs);
    }
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
               .count() /
           static_cast<double>(runs);
  }

  Executable executable;
  Executable::Workspace workspace;
  std::vector<Tensor> inputs;
};

class OwnEngine final : public Engine {
 public:
  const EngineFacts& facts() const override { return facts_; }
  bool is_broken() const override { return false; }

  LoadedModel load(const std::filesystem::path& path, const ModelInputs& inputs) override {
    try {
      const Graph graph =
          ready_to_run(load_model(path, {}, shapes_of(inputs)), {}, Toolkit::builtin());
      auto model = std::make_unique<OwnModel>(graph);
      for (const auto& [name, values] : complete_inputs(graph, inputs)) {
        model->inputs.push_back(values);
      }
      model->run(2);
      models_[next_] = std::move(model);
    } catch (Error& error) {
      if (error.code() == ErrorCode::kInternal) {
        throw;
      }
      throw Error(ErrorCode::kUnsupported, "engine 'tare'", error.what());
    }
    return LoadedModel{next_++};
  }

  void unload(LoadedModel model) override { models_.erase(model.index); }

  std::vector<std::vector<double>> time(std::span<const LoadedModel> models,
                                        std::span<const std::size_t> runs,
                                        std::size_t rounds) override {
    std::vector<std::vector<double>> result(models.size());
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < models.size(); ++i) {
        const std::size_t turn = round % 2 == 0 ? i : models.size() - 1 - i;
        result[turn].push_back(models_.at(models[turn].index)->run(runs[turn]));
      }
    }
    return result;
  }

 private:
  EngineFacts facts_{
      .name = "tare", .version = version(), .processor = processor_name(), .threads = 1};
  std::map<std::size_t, std::unique_ptr<OwnModel>> models_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Engine> open_own_engine() {
  return std::make_unique<OwnEngine>();
}

}  // namespace tare
