// The functions tare_samples_*.
#include "tare/error.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "c/guard.h"
#include "c/handles.h"
#include "c/samples.h"

#include <algorithm>
#include <utility>

namespace tare::c {
namespace {

std::vector<Array> arrays_of(const tare_array* arrays, std::size_t count) {
  std::vector<Array> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(array_of(arrays[i]));
  }
  return result;
}

bool pull(const tare_stream& stream, std::vector<Array>& arrays) {
  const tare_array* given = nullptr;
  std::size_t count = 0;
  const int status = stream.next(stream.context, &given, &count);
  if (status < 0) {
    throw CallbackFailed{"next"};
  }
  if (status > 0) {
    if (count > 0) {
      require(given, "arrays");
    }
    arrays = arrays_of(given, count);
  }
  return status > 0;
}

std::unique_ptr<Dataset> part(const Dataset& data, std::int32_t which, std::size_t count) {
  if (count > data.size()) {
    throw Error(
        ErrorCode::kInvalidConfig, "argument 'count'",
        "is " + std::to_string(count) + " of " + std::to_string(data.size()) + " samples");
  }
  switch (which) {
    case TARE_FIRST:
      return part_of(data, 0, count);
    case TARE_EVENLY_SPACED:
      return evenly_spaced(data, count);
    case TARE_OTHERS:
      return without_evenly_spaced(data, count);
    case TARE_BEHIND:
      return part_of(data, count, data.size() - count);
    default:
      throw Error(ErrorCode::kInvalidConfig, "argument 'which'", "is " + std::to_string(which));
  }
}

void require_model_for_states(const tare_model* model, const Config& config) {
  if (model == nullptr && !config.state.empty()) {
    throw Error(ErrorCode::kInvalidConfig, "argument 'model'",
                "is NULL, and the configuration takes states from it");
  }
}

std::unique_ptr<Dataset> steps_of(const tare_samples& samples, const tare_model* model,
                                  const ReadConfig& settings) {
  const auto& [names, toolkit, config] = settings;
  auto all = part_of(*samples.data, 0, samples.data->size());
  if (samples.has_states || config.state.empty()) {
    return all;
  }
  require_model_for_states(model, config);
  const Graph graph = ready_to_run(load(*model, config, all.get()), config, toolkit);
  return with_states(graph, std::move(all), config);
}

}  // namespace
extern "C" {

tare_error* tare_samples_open(const char* path, const tare_model* model,
                              const tare_config* config, const tare_job* job,
                              tare_samples** samples) {
  return guarded([&] {
    require(path, "path");
    require(samples, "samples");
    const auto settings = settings_of(config);
    const Work work(job);
    // Whoever loads the library does not expect a damaged file to end the process.
    constexpr Hdf5Options kTrial{.trial_in_child = true};
    if (model == nullptr) {
      require_model_for_states(model, settings->config);
      *samples = new tare_samples{open_samples(path, {.inputs = {},
                                                      .preparations = settings->config.inputs,
                                                      .hdf5 = kTrial,
                                                      .notice = {}}),
                                  path};
      return;
    }
    const auto notice = [&](const std::string& text) {
      work.warn({{.kind = "guessed_preparation", .where = path, .what = text}});
    };
    *samples = new tare_samples{
        open_samples(path, model->path, settings->config, settings->toolkit, kTrial, notice),
        path, !settings->config.state.empty()};
  });
}

tare_error* tare_samples_of_arrays(const tare_array* arrays, size_t count,
                                   tare_samples** samples) {
  return guarded([&] {
    require(samples, "samples");
    if (count > 0) {
      require(arrays, "arrays");
    }
    *samples = new tare_samples{samples_of_arrays({arrays_of(arrays, count)})};
  });
}

tare_error* tare_samples_of_pieces(const tare_array* arrays, const size_t* counts,
                                   size_t pieces, tare_samples** samples) {
  return guarded([&] {
    require(samples, "samples");
    std::vector<std::vector<Array>> all;
    const tare_array* next = arrays;
    if (pieces > 0) {
      require(counts, "counts");
    }
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      if (counts[piece] > 0) {
        require(arrays, "arrays");
      }
      all.push_back(arrays_of(next, counts[piece]));
      next += counts[piece];
    }
    *samples = new tare_samples{samples_of_arrays(std::move(all))};
  });
}

tare_error* tare_samples_of_stream(const tare_stream* stream, tare_samples** samples) {
  return guarded([&] {
    require(stream, "stream");
    require(reinterpret_cast<const void*>(stream->next), "next");
    require(samples, "samples");
    *samples = new tare_samples{
        samples_of_stream([&](std::vector<Array>& arrays) { return pull(*stream, arrays); })};
  });
}

tare_error* tare_samples_of_source(const tare_source* source, tare_samples** samples) {
  return guarded([&] {
    require(source, "source");
    require(reinterpret_cast<const void*>(source->read), "read");
    require(source->inputs, "inputs");
    require(samples, "samples");
    *samples = new tare_samples{samples_of_source(*source)};
  });
}

tare_error* tare_samples_part(const tare_samples* samples, int32_t which, size_t count,
                              tare_samples** out) {
  return guarded([&] {
    require(samples, "samples");
    require(out, "part");
    *out = new tare_samples{part(*samples->data, which, count), samples->name,
                            samples->has_states};
  });
}

tare_error* tare_samples_with_states(const tare_samples* samples, const tare_model* model,
                                     const tare_config* config, tare_samples** out) {
  return guarded([&] {
    require(samples, "samples");
    require(out, "with_states");
    const auto settings = settings_of(config);
    *out = new tare_samples{steps_of(*samples, model, *settings), samples->name,
                            samples->has_states || !settings->config.state.empty()};
  });
}

size_t tare_samples_count(const tare_samples* samples) {
  return samples == nullptr ? 0 : samples->data->size();
}

tare_error* tare_samples_labels(const tare_samples* samples, int64_t* labels, size_t* count) {
  return guarded([&] {
    require(samples, "samples");
    require(labels, "labels");
    require(count, "count");
    const auto found = samples->data->labels();
    *count = found ? found->size() : 0;
    if (found) {
      std::copy(found->begin(), found->end(), labels);
    }
  });
}

void tare_samples_free(tare_samples* samples) {
  delete samples;
}

}  // extern "C"

}  // namespace tare::c
