// The functions tare_report_* and tare_compare, and running models.
#include "tare/error.h"
#include "tare/model_files.h"

#include "c/array.h"
#include "c/guard.h"
#include "c/handles.h"
#include "c/quantized.h"

#include <optional>
#include <string>
#include <utility>

namespace tare::c {
namespace {

constexpr const char* kConfigured = "configured";

/// Whose arithmetic a quantized model runs with; nothing: that of its file.
std::optional<Numerics> numerics_of(const char* name) {
  if (name == nullptr) {
    return Numerics::kOnnxRuntime;
  }
  return std::string(name) == kConfigured ? std::nullopt
                                          : std::optional(numerics_from_name(name));
}

Graph load_for(const tare_model& model, const Config& config, const Dataset& data,
               const char* numerics) {
  return load(model, config, &data, numerics_of(numerics).value_or(Numerics::kOnnxRuntime));
}

EvaluatedOn evaluated_on(std::int32_t kind) {
  switch (kind) {
    case TARE_GIVEN:
      return EvaluatedOn::kGiven;
    case TARE_CALIBRATION:
      return EvaluatedOn::kCalibration;
    case TARE_HELD_OUT:
      return EvaluatedOn::kHeldOut;
    default:
      throw Error(ErrorCode::kInvalidConfig, "argument 'evaluated_on'",
                  "is " + std::to_string(kind));
  }
}

Report compared(const tare_model& real, const tare_model& quantized, const Dataset& data,
                const ReadConfig& settings, const char* numerics, const Work& work) {
  const auto& [names, toolkit, config] = settings;
  ComparedModels models{.real = load(real, config, &data),
                        .quantized = load_for(quantized, config, data, numerics),
                        .numerics = numerics_of(numerics)};
  work.warn(invalid_constants(models.real));
  work.warn(audit_tail(models.real));
  FileMetadata metadata = read_file_metadata(quantized.path);
  const Config stated = with_metadata(config, metadata);
  models.factors = std::move(metadata.factors);
  return compare_models(std::move(models), data, stated, toolkit,
                        {.threads = work.threads(),
                         .samples = work.samples(),
                         .progress = work.progress("comparing")});
}

void name_file(const tare_model& model, ModelFacts& facts) {
  facts.file = model.name;
  facts.bytes = stored_bytes(model.path);
}

Graph runnable(const tare_model& model, const Config& config, const Toolkit& toolkit,
               const Dataset& data, const char* numerics) {
  Graph graph = load_for(model, config, data, numerics);
  if (numerics == nullptr) {
    return ready_to_run(std::move(graph), config, toolkit);
  }
  if (const std::optional<Numerics> wanted = numerics_of(numerics)) {
    return with_numerics(lower_quantized(std::move(graph), config, toolkit), *wanted);
  }
  return lower_quantized(std::move(graph), read_file_metadata(model.path), config, toolkit);
}

}  // namespace

extern "C" {

tare_error* tare_quantized_compare(const tare_quantized* quantized, const tare_samples* samples,
                                   int32_t kind, int32_t brief, const tare_job* job,
                                   tare_report** report) {
  return guarded([&] {
    require(quantized, "quantized");
    require(samples, "samples");
    require(report, "report");
    const Work work(job);
    Report made =
        compare_result(quantized->result, *samples->data, quantized->settings->toolkit,
                       {.threads = work.threads(),
                        .samples = work.samples(),
                        .brief = brief != 0,
                        .evaluated_on = evaluated_on(kind),
                        .progress = work.progress("comparing")});
    made.real.file = quantized->name;
    made.data = samples->name;
    *report = new tare_report{std::move(made)};
  });
}

tare_error* tare_compare(const tare_model* real, const tare_model* quantized,
                         const tare_samples* samples, const tare_config* config,
                         const char* numerics, const tare_job* job, tare_report** report) {
  return guarded(activity("comparing", quantized), [&] {
    require(real, "real");
    require(quantized, "quantized");
    require(samples, "samples");
    require(report, "report");
    Report made =
        compared(*real, *quantized, *samples->data, *settings_of(config), numerics, Work(job));
    name_file(*real, made.real);
    name_file(*quantized, made.quantized);
    made.data = samples->name;
    *report = new tare_report{std::move(made)};
  });
}

tare_error* tare_report_json(const tare_report* report, char** json) {
  return guarded([&] {
    require(report, "report");
    require(json, "json");
    *json = text_for_caller(report_json(report->value));
  });
}

tare_error* tare_report_write(const tare_report* report, const char* path) {
  return guarded([&] {
    require(report, "report");
    require(path, "path");
    write_report(path, report->value, report_format(path));
  });
}

tare_error* tare_report_annotate(const tare_report* report, const tare_model* quantized,
                                 const char* path) {
  return guarded([&] {
    require(report, "report");
    require(quantized, "quantized");
    require(path, "path");
    require_other_file(path, quantized->path, quantized->name);
    annotate_model(quantized->path, path, report->value);
  });
}

void tare_report_free(tare_report* report) {
  delete report;
}

tare_error* tare_run(const tare_model* model, const tare_samples* samples,
                     const tare_config* config, const char* numerics, const tare_job* job,
                     tare_take take, void* context) {
  return guarded(activity("running", model), [&] {
    require(model, "model");
    require(samples, "samples");
    require(reinterpret_cast<const void*>(take), "take");
    const Work work(job);
    const auto settings = settings_of(config);
    const Dataset& data = *samples->data;
    const Graph graph = runnable(*model, settings->config, settings->toolkit, data, numerics);
    work.warn(invalid_constants(graph));
    work.warn(audit_tail(graph));
    const bool is_whole = are_whole_inputs(graph, data);
    run_model(
        graph, data, work.threads(), work.samples(),
        [&](std::size_t run, std::map<std::string, Tensor> results) {
          std::vector<std::string> names;
          std::vector<Tensor> outputs;
          for (const std::string& name : model_outputs(graph)) {
            const auto found = results.find(name);
            if (found == results.end()) {
              continue;
            }
            Shape shape = found->second.shape();
            const auto value = graph.find_value(name);
            if (is_whole && value && graph.is_output(*value)) {  // results are no rows either
              shape.insert(shape.begin(), 1);
            }
            names.push_back(name);
            outputs.push_back(found->second.reshaped(std::move(shape)));
          }
          const Views views(outputs, names);
          if (take(context, run, views.data(), views.size()) != 0) {
            throw CallbackFailed{"take"};
          }
        },
        work.progress("running"));
  });
}

}  // extern "C"

}  // namespace tare::c
