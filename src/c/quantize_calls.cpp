// The functions tare_quantize*.
#include "tare/error.h"
#include "tare/process.h"

#include "c/guard.h"
#include "c/handles.h"
#include "c/json.h"
#include "c/quantized.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

namespace tare::c {
namespace {

/// Of the samples that are there, those that the call or else the configuration asks for.
std::size_t limit_of(const Work& work, const Config& config) {
  return work.samples() != 0 ? work.samples()
                             : static_cast<std::size_t>(config.samples.value_or(0));
}

QuantizeResult from_samples(const tare_model& model, const tare_samples& samples,
                            const ReadConfig& settings, const Work& work) {
  const auto data = used_samples(samples, limit_of(work, settings.config));
  return quantize(load(model, settings.config, data.get()), *data, settings.config,
                  settings.toolkit,
                  {.threads = work.threads(),
                   .memory = settings.config.memory,
                   .progress = work.progress("calibrating")});
}

QuantizeResult from_weights(const tare_model& model, const ReadConfig& settings) {
  return quantize(load(model, settings.config, nullptr), settings.config, settings.toolkit);
}

/// Runs `make`, and gives the caller what it makes.
template <class Make>
tare_error* quantized_by(const tare_model* model, const tare_config* config,
                         const tare_job* job, tare_quantized** quantized, const Make& make) {
  return guarded(activity("quantizing", model), [&] {
    require(model, "model");
    require(quantized, "quantized");
    const Work work(job);
    auto settings = settings_of(config);
    QuantizeResult result = make(*settings, work);
    work.warn(result.audit.warnings);
    *quantized =
        new tare_quantized{std::move(settings), std::move(result), model->path, model->name};
  });
}

Form form_of(const char* name) {
  const std::string_view given = name == nullptr ? "qdq" : name;
  if (given == "qdq") {
    return Form::kQdq;
  }
  if (given == "qoperator") {
    return Form::kQoperator;
  }
  if (given == "integer") {
    return Form::kInteger;
  }
  throw Error(ErrorCode::kInvalidConfig, "argument 'form'", "is '" + std::string(given) + "'")
      .expected("qdq, qoperator or integer");
}

}  // namespace

void require_other_file(const std::filesystem::path& path, const std::filesystem::path& input,
                        const std::string& name) {
  std::error_code none;
  if (std::filesystem::equivalent(path, input, none)) {
    throw Error(ErrorCode::kIo, path.string(), "is the same file as the input '" + name + "'")
        .expected("another file");
  }
}

std::unique_ptr<Dataset> used_samples(const tare_samples& samples, std::size_t limit) {
  const std::size_t all = samples.data->size();
  return part_of(*samples.data, 0, limit == 0 ? all : std::min(limit, all));
}

extern "C" {

tare_error* tare_quantize(const tare_model* model, const tare_samples* samples,
                          const tare_config* config, const tare_job* job,
                          tare_quantized** quantized) {
  return quantized_by(
      model, config, job, quantized, [&](const ReadConfig& settings, const Work& work) {
        return samples == nullptr ? from_weights(*model, settings)
                                  : from_samples(*model, *samples, settings, work);
      });
}

tare_error* tare_quantize_statistics(const tare_model* model, const tare_statistics* statistics,
                                     const tare_config* config, const tare_job* job,
                                     tare_quantized** quantized) {
  return quantized_by(
      model, config, job, quantized, [&](const ReadConfig& settings, const Work&) {
        require(statistics, "statistics");
        const auto& [names, toolkit, read] = settings;
        return quantize(load_model(model->path, read.dims, statistics->value.inputs),
                        statistics->value, read, toolkit);
      });
}

tare_error* tare_quantize_table(const tare_model* model, const char* path,
                                const tare_config* config, const tare_job* job,
                                tare_quantized** quantized) {
  return quantized_by(model, config, job, quantized,
                      [&](const ReadConfig& settings, const Work&) {
                        require(path, "table");
                        const TableFile table(path);
                        const auto& [names, toolkit, read] = settings;
                        return quantize(load_model(model->path, read.dims, table.inputs()),
                                        table, read, toolkit);
                      });
}

tare_error* tare_quantized_write(const tare_quantized* quantized, const char* path,
                                 const char* form) {
  return guarded([&] {
    require(quantized, "quantized");
    require(path, "path");
    require_other_file(path, quantized->model, quantized->name);
    write_model(quantized->result, path, form_of(form));
  });
}

tare_error* tare_quantized_write_table(const tare_quantized* quantized, const char* path) {
  return guarded([&] {
    require(quantized, "quantized");
    require(path, "path");
    require_other_file(path, quantized->model, quantized->name);
    write_table(path, quantized->result);
  });
}

tare_error* tare_quantized_summary(const tare_quantized* quantized, char** json) {
  return guarded([&] {
    require(quantized, "quantized");
    require(json, "json");
    *json = text_for_caller(to_text(summary_json(*quantized->settings, quantized->result)));
  });
}

tare_error* tare_quantized_table(const tare_quantized* quantized, char** json) {
  return guarded([&] {
    require(quantized, "quantized");
    require(json, "json");
    *json = text_for_caller(to_text(table_json(quantized->result.table)));
  });
}

void tare_quantized_free(tare_quantized* quantized) {
  delete quantized;
}

}  // extern "C"

}  // namespace tare::c
