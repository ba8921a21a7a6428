// Collects the statistics of a model on samples, to choose parameters from later.

#include "tare/dataset.h"
#include "tare/quantize.h"
#include "tare/simulate.h"
#include "tare/statistics.h"

#include "activity.h"
#include "configuration.h"
#include "interrupt.h"
#include "outputs.h"
#include "printing/progress.h"
#include "printing/warnings.h"
#include "ranks.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <filesystem>
#include <string_view>
#include <utility>

namespace tare::cli {
namespace {

struct CalibrateJob {
  std::string model;
  std::string output;
  std::size_t samples = 0;          ///< of all ranks
  std::size_t share = 0;            ///< of this one
  CalibrationAudit audit{};         ///< of this one
  std::vector<Warning> warnings{};  ///< about inputs, then those of the audit
};

std::string part_of(const std::string& output, int rank) {
  return output + ".rank" + std::to_string(rank);
}

/// What this rank writes: its part, or all where it is alone.
std::string output_of(const CalibrateJob& job, const Ranks& ranks) {
  return ranks.alone() ? job.output : part_of(job.output, ranks.own());
}

/// In the name of samples: the number of the rank, each of which has samples of its own.
constexpr std::string_view kRank = "%r";

bool has_own_samples(const Options& options) {
  return options.text("data").find(kRank) != std::string::npos;
}

/// The samples that this rank reads.
std::string data_of(const Options& options, const Ranks& ranks) {
  std::string path = options.text("data");
  for (std::size_t at = path.find(kRank); at != std::string::npos; at = path.find(kRank)) {
    path.replace(at, kRank.size(), std::to_string(ranks.own()));
  }
  return path;
}

void check_files(const Options& options, const CalibrateJob& job, const Ranks& ranks) {
  CommandFiles files;
  files.reads_model(job.model);
  files.reads(data_of(options, ranks));
  add_configuration(options, files);
  files.writes(job.output, Content::kArrays);
  if (!ranks.alone()) {
    files.keeps_beside(job.output, ".rank" + std::to_string(ranks.own()));
  }
  files.keeps_beside(output_of(job, ranks), kCheckpoint);
  files.check();
}

/// The statistics of this rank's share of the samples.
Statistics collect_share(const Options& options, const Console& console, const Ranks& ranks,
                         CalibrateJob& job, const std::string& output) {
  const auto [config, toolkit] = read_configuration(options);
  const auto data = open_samples(data_of(options, ranks), job.model, config, console);
  const Graph graph = load_model(job.model, config.dims, data.get());
  const SimulatedGraph simulated = simulate_all(graph, config, toolkit);
  const auto limit = static_cast<std::size_t>(config.samples.value_or(0));
  const auto batch = static_cast<std::size_t>(graph.type(graph.inputs()[0]).shape[0]);
  const std::size_t available = limit == 0 ? data->size() : std::min(limit, data->size());
  const bool is_whole = ranks.alone() || has_own_samples(options);
  const auto [first, end] =
      is_whole ? std::pair(std::size_t{0}, available / batch) : ranks.share(available / batch);
  job.samples = available / batch * batch;
  job.share = (end - first) * batch;
  if (first == end && !is_whole) {
    Statistics nothing;
    nothing.model = model_digest(simulated.source);
    return nothing;
  }
  if (ranks.own() == 0) {
    job.warnings = audit_inputs(graph, *data, static_cast<int>(options.count("threads")));
    for (Warning& warning : audit_sample_count(job.samples)) {
      job.warnings.push_back(std::move(warning));
    }
  }
  Progress progress(console, "calibrating");
  return collect_resumably(simulated, *data,
                           {.threads = static_cast<int>(options.count("threads")),
                            .samples = is_whole ? limit : end * batch,
                            .first = first * batch,
                            .progress = progress.callback(),
                            .stop = Interrupt::requested},
                           {.file = output + kCheckpoint, .reading = kUserFile}, &job.audit);
}

/// What all ranks wrote, added up.
Statistics merge_parts(const std::string& output, int count) {
  Statistics total = open_statistics(part_of(output, 0));
  for (int rank = 1; rank < count; ++rank) {
    merge(open_statistics(part_of(output, rank)), total);
  }
  return total;
}

int run_calibrate(const Options& options, const Console& console) {
  CalibrateJob job{.model = options.text("MODEL"), .output = options.text("output")};
  return during("calibrating '" + job.model + "'", [&] {
    const Ranks ranks;
    check_files(options, job, ranks);
    const Console spoken = ranks.speaker(console);
    const std::string output = output_of(job, ranks);
    const Interrupt interrupt;
    Statistics statistics = collect_share(options, spoken, ranks, job, output);
    if (statistics.samples < job.share) {
      spoken.say(fmt::format("interrupted after {} of {}; run the same command to resume\n",
                             statistics.samples, counted(job.samples, "sample")));
      return Interrupt::exit_status();
    }
    job.warnings.insert(job.warnings.end(), job.audit.warnings.begin(),
                        job.audit.warnings.end());
    if (ranks.own() == 0) {
      say_warnings(job.warnings, spoken);
    }
    write_statistics(output, statistics);
    if (!ranks.alone()) {
      ranks.wait();
      if (ranks.own() != 0) {
        return 0;
      }
      statistics = merge_parts(job.output, ranks.count());
      write_statistics(job.output, statistics);
      for (int rank = 0; rank < ranks.count(); ++rank) {
        std::filesystem::remove(part_of(job.output, rank));
      }
    }
    if (options.has("json")) {
      console.print(to_text(Json{{"model", job.model},
                                 {"output", job.output},
                                 {"samples", statistics.samples},
                                 {"data", fmt::format("{:x}", statistics.data)},
                                 {"values", statistics.values.size()},
                                 {"warnings", warnings_json(job.warnings)}}));
    } else {
      console.say(fmt::format("wrote statistics of {} on {} to {}\n",
                              counted(statistics.values.size(), "value"),
                              counted(statistics.samples, "sample"), job.output));
    }
    return 0;
  });
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(calibrate) {
  using namespace tare::cli;
  Flag data = data_flag(true);
  data.summary +=
      "; %r in it is the number of the rank under MPI, each with samples of its own";
  std::vector<Flag> flags{std::move(data), output_flag("statistics: HDF5")};
  append(flags, config_flags());
  append(flags, {threads_flag(), samples_flag()});
  return {.task = Task::kParts,
          .summary =
              "collect calibration statistics for quantize --stats; resumes where it stopped",
          .arguments = {{"MODEL", "float model: ONNX or TensorFlow Lite"}},
          .flags = std::move(flags),
          .examples = {"tare calibrate model.onnx --data samples.h5 -o statistics.h5"},
          .run = run_calibrate,
          .shares_work = [](const Options&) { return true; }};
}
