// Writes samples of any kind to one HDF5 file, as a model gets them.
#include "tare/dataset.h"
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/model_files.h"
#include "tare/process.h"
#include "tare/statistics.h"

#include "activity.h"
#include "configuration.h"
#include "outputs.h"
#include "printing/progress.h"
#include "printing/warnings.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace tare::cli {
namespace {

/// The bytes that became these values, or nothing where some were none.
std::optional<Tensor> as_bytes(const DatasetInput& input, const Tensor& values) {
  const std::size_t channels = std::max(input.mean.size(), input.std.size());
  const auto from = values.view<float>();
  Tensor bytes(DType::kUint8, values.shape());
  const auto to = bytes.mutable_view<std::uint8_t>();
  const std::size_t rows = static_cast<std::size_t>(values.shape()[0]) * channels;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t channel = i / (to.size() / rows) % channels;
    const float mean = input.mean[input.mean.size() == 1 ? 0 : channel];
    const float std = input.std[input.std.size() == 1 ? 0 : channel];
    const float byte = std::nearbyint(from[i] * std + mean);
    // Whoever reads them has to get the same values.
    if (!(byte >= 0 && byte <= 255) || (byte - mean) / std != from[i]) {
      return std::nullopt;
    }
    to[i] = static_cast<std::uint8_t>(byte);
  }
  return bytes;
}

/// Samples are read, and pictures decoded, on several threads at a time; the file gets them in
/// their order.
class SampleCopy {
 public:
  SampleCopy(const Dataset& data, std::size_t count, std::size_t threads,
             std::filesystem::path output)
      : data_(data), count_(count), threads_(threads), output_(std::move(output)) {}

  /// Integers stand for the values of these inputs afterwards.
  const std::set<std::string>& bytes() const { return bytes_; }

  void run(const std::function<void(std::size_t, std::size_t)>& progress) {
    for (const DatasetInput& input : data_.inputs()) {
      if (input.dtype == DType::kFloat32 && !input.mean.empty()) {
        bytes_.insert(input.name);
      }
    }
    while (!try_once(progress)) {
      // Some values were no bytes, and bytes_ has shrunk.
    }
  }

 private:
  bool try_once(const std::function<void(std::size_t, std::size_t)>& progress) {
    DatasetWriter writer(output_);
    for (std::size_t first = 0; first < count_; first += threads_) {
      const std::size_t end = std::min(first + threads_, count_);
      for (const DatasetInput& input : data_.inputs()) {
        std::vector<std::future<Tensor>> parts;
        for (std::size_t i = first; i < end; ++i) {
          parts.push_back(std::async(
              std::launch::async, [this, &input, i] { return data_.read(input.name, i, 1); }));
        }
        for (std::future<Tensor>& part : parts) {
          if (!append(input, part.get(), writer)) {
            return false;
          }
        }
      }
      if (progress) {
        progress(end, count_);
      }
    }
    for (const DatasetInput& input : data_.inputs()) {
      if (bytes_.contains(input.name)) {
        writer.normalize(input.name, input.mean, input.std);
      }
    }
    if (const auto labels = data_.labels()) {
      writer.append("labels", Tensor::of<std::int64_t>({static_cast<std::int64_t>(count_)},
                                                       std::span(*labels).first(count_)));
    }
    writer.finish();
    return true;
  }

  bool append(const DatasetInput& input, const Tensor& values, DatasetWriter& writer) {
    if (!bytes_.contains(input.name)) {
      writer.append(input.name, values);
      return true;
    }
    const std::optional<Tensor> bytes = as_bytes(input, values);
    if (!bytes) {
      bytes_.erase(input.name);
      return false;
    }
    writer.append(input.name, *bytes);
    return true;
  }

  const Dataset& data_;
  std::size_t count_;
  std::size_t threads_;
  std::filesystem::path output_;
  std::set<std::string> bytes_;
};

struct Found {
  std::vector<std::string> notes;
  std::vector<Warning> warnings;
};

/// What looks wrong in the samples, of a model that can be read.
std::vector<Warning> warnings_of(const std::string& model, const Config& config,
                                 const Dataset& data, int threads) {
  return audit_inputs(load_model(model, config.dims, &data), data, threads);
}

void write_sheet(const Options& options, const Config& config, const Dataset& data,
                 const Found& found) {
  SheetText text{.title = "Samples in " + options.text("PATH"),
                 .model = options.text("like"),
                 .inputs = model_inputs(options.text("like"), config.dims),
                 .notes = found.notes,
                 .warnings = {}};
  for (const Warning& warning : found.warnings) {
    text.warnings.push_back(warning.where + ": " + warning.what);
  }
  write_text(options.text("sheet"), contact_sheet(data, text));
}

std::string stored_text(const DatasetInput& input, bool is_bytes, bool several_shapes) {
  return fmt::format("  {:<12}{} {}{}{}\n", printable(input.name),
                     is_bytes ? "u8" : name_of(input.dtype), to_string(input.shape),
                     several_shapes ? " in the largest sample" : "",
                     is_bytes ? ", with mean and std" : "");
}

int run_samples(const Options& options, const Console& console) {
  const std::string path = options.text("PATH");
  const std::string output = options.text("output");
  return during("reading '" + path + "'", [&] {
    const Configuration configuration = read_configuration(options);
    const std::string model = options.text("like");
    CommandFiles files;
    files.reads_model(model);
    files.reads(path);
    add_configuration(options, files);
    files.writes(output, Content::kArrays);
    files.writes(options.text("sheet"), Content::kReport);
    files.check();
    Found found;
    const auto all = open_samples(path, model, configuration.config, &console, found.notes);
    const std::size_t count = std::min<std::size_t>(
        options.has("samples") ? options.count("samples") : all->size(), all->size());
    const auto data = part_of(*all, 0, count);
    const auto threads = static_cast<int>(options.count("threads"));
    found.warnings = warnings_of(model, configuration.config, *data, threads);
    SampleCopy copy(*data, count,
                    threads > 0 ? static_cast<std::size_t>(threads)
                                : std::max<std::size_t>(std::thread::hardware_concurrency(), 1),
                    output);
    {
      Progress progress(console, "writing");
      copy.run(progress.callback());
    }
    if (options.has("sheet")) {
      write_sheet(options, configuration.config, *data, found);
    }
    say_warnings(found.warnings, console);
    if (options.has("json")) {
      Json json{{"output", output}, {"samples", count}, {"labels", data->labels().has_value()}};
      for (const DatasetInput& input : data->inputs()) {
        const bool is_bytes = copy.bytes().contains(input.name);
        json["inputs"].push_back({{"name", input.name},
                                  {"dtype", is_bytes ? "u8" : name_of(input.dtype)},
                                  {"shape", input.shape}});
      }
      json["several_shapes"] = data->has_several_shapes();
      json["notes"] = found.notes;
      json["warnings"] = warnings_json(found.warnings);
      console.print(to_text(json));
      return 0;
    }
    std::string text = fmt::format("{} -> {}: {}{}\n", path, output, counted(count, "sample"),
                                   data->labels() ? ", with labels" : "");
    for (const DatasetInput& input : data->inputs()) {
      text += stored_text(input, copy.bytes().contains(input.name), data->has_several_shapes());
    }
    console.print(text);
    return 0;
  });
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(samples) {
  using namespace tare::cli;
  std::vector<Flag> flags{
      {.name = "like",
       .value = "MODEL",
       .summary = "the model that they are for: ONNX or TensorFlow Lite",
       .required = true},
      output_flag("HDF5: one dataset per model input, bytes with mean and std where that says "
                  "the same; where samples differ in shape, one group for each"),
      {.name = "sheet",
       .value = "FILE",
       .summary = "contact sheet, HTML: what the model gets to see, and histograms beside what "
                  "is usual"}};
  append(flags, config_flags());
  append(flags, {threads_flag(), samples_flag()});
  return {.task = Task::kParts,
          .summary =
              "write pictures, recordings or arrays to one file of samples, as a model "
              "gets them",
          .arguments = {{"PATH",
                         "folder of pictures, recordings or arrays, .npz, .npy, a list of "
                         "files, or HDF5"}},
          .flags = std::move(flags),
          .examples = {"tare samples photos --like model.onnx -o samples.h5 --sheet sheet.html",
                       "tare samples photos --like model.onnx -o samples.h5 --preset imagenet",
                       "tare samples photos.txt --like model.onnx -o samples.h5 --set "
                       "'inputs.*.mean=[0.5, 0.5, 0.5]'"},
          .run = run_samples};
}
