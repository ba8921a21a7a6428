// Adds up statistics that were collected on parts of the samples.
#include "tare/error.h"
#include "tare/statistics.h"

#include "activity.h"
#include "outputs.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

namespace tare::cli {
namespace {

int run_merge(const Options& options, const Console& console) {
  const std::string output = options.text("output");
  const std::vector<std::string>& parts = options.all("STATISTICS");
  return during("merging statistics", [&] {
    CommandFiles files;
    files.reads(parts);
    files.writes(output, Content::kArrays);
    files.check();
    Statistics total = open_statistics(parts.front());
    for (auto part = parts.begin() + 1; part != parts.end(); ++part) {
      try {
        merge(open_statistics(*part), total);
      } catch (Error& error) {
        if (error.code() == ErrorCode::kInvalidData && error.faults()[0].where.empty()) {
          error.at(*part);
        }
        throw;
      }
    }
    write_statistics(output, total);
    if (options.has("json")) {
      console.print(to_text(Json{{"output", output}, {"samples", total.samples}}));
    } else {
      console.say(fmt::format("wrote statistics of {} to {}\n",
                              counted(total.samples, "sample"), output));
    }
    return 0;
  });
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(merge) {
  using namespace tare::cli;
  return {.task = Task::kParts,
          .summary = "merge the statistics of several parts of the samples",
          .arguments = {{"STATISTICS", "statistics of one model, written by calibrate", true}},
          .flags = {output_flag("statistics: HDF5")},
          .examples = {"tare merge first.h5 second.h5 -o statistics.h5"},
          .run = run_merge};
}
