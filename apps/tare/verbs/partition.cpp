// Takes out of a quantized network what a device runs as one.

#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/process.h"

#include "activity.h"
#include "configuration.h"
#include "printing/layout.h"
#include "stage.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace tare::cli {
namespace {

namespace fs = std::filesystem;

struct Partition {
  Graph graph;
  std::vector<OffloadRegion> regions;
};

/// Of the command line and of --units; those of the target where there are none, and all that
/// is on integers where that has none either.
std::vector<OffloadPattern> units_of(const Options& options,
                                     const Configuration& configuration) {
  std::vector<FusedUnit> units;
  for (const std::string& text : options.all("pattern")) {
    units.push_back({text, text});
  }
  if (options.has("units")) {
    const std::vector<FusedUnit> listed = read_units(options.text("units"));
    units.insert(units.end(), listed.begin(), listed.end());
  }
  if (units.empty()) {
    units = target_of(configuration.config, configuration.toolkit).units;
  }
  std::vector<OffloadPattern> patterns;
  for (const FusedUnit& unit : units) {
    patterns.push_back({unit.name, parse_pattern(unit.pattern)});
  }
  return patterns.empty() ? integer_patterns() : patterns;
}

/// "region_007"
std::string file_name(std::size_t index) {
  return fmt::format("region_{:03}", index);
}

Json described(const Graph& graph, const std::vector<ValueId>& values) {
  Json list = Json::array();
  for (const ValueId value : values) {
    const TensorType& type = graph.type(value);
    Json entry{
        {"name", graph.name(value)}, {"dtype", name_of(type.dtype)}, {"shape", type.shape}};
    if (type.quant) {
      entry["scale"] = type.quant->scale;
      entry["zero_point"] = type.quant->zero_point;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

/// What a device needs to rescale: value * multiplier >> shift.
Json rescaling(const Graph& graph, const Node& requantize) {
  Json multipliers = Json::array();
  Json shifts = Json::array();
  for (const FixedPointFactor& factor : rescaling_factors(graph, requantize)) {
    multipliers.push_back(factor.significand);
    shifts.push_back(31 - factor.exponent);
  }
  return {{"node", requantize.name},
          {"rounding", requantize.attributes.text("rounding")},
          {"multiplier", std::move(multipliers)},
          {"shift", std::move(shifts)}};
}

Json as_json(const std::string& model, const Partition& partition) {
  const Graph& graph = partition.graph;
  Json json{{"model", model}, {"regions", Json::array()}, {"host", Json::array()}};
  std::set<NodeId> taken;
  for (std::size_t i = 0; i < partition.regions.size(); ++i) {
    const OffloadRegion& region = partition.regions[i];
    Json entry{{"file", file_name(i) + ".tir"}, {"unit", region.pattern}};
    for (const NodeId id : region.nodes) {
      const Node& node = graph.node(id);
      taken.insert(id);
      entry["nodes"].push_back({{"name", node.name}, {"op", node.op}});
      if (node.op == "Requantize") {
        entry["requantize"].push_back(rescaling(graph, node));
      }
    }
    entry["inputs"] = described(graph, region.inputs);
    entry["outputs"] = described(graph, region.outputs);
    json["regions"].push_back(std::move(entry));
  }
  for (const NodeId id : graph.topological_order()) {
    if (!taken.contains(id)) {
      json["host"].push_back({{"name", graph.node(id).name}, {"op", graph.node(id).op}});
    }
  }
  return json;
}

std::string regions_text(const Json& json, const Terminal& terminal) {
  std::map<std::string, std::size_t> units;
  std::string text;
  for (const Json& region : json["regions"]) {
    ++units[region["unit"]];
    std::string ops;
    for (const Json& node : region["nodes"]) {
      ops += (ops.empty() ? "" : "+") + node["op"].get<std::string>();
    }
    text += fmt::format(
        "  {}  {:<24}  {}\n", region["file"].get<std::string>().substr(0, 10), ops,
        shortened(region["nodes"].back()["name"].get<std::string>(), terminal.name_columns()));
  }
  std::map<std::string, std::size_t> host;
  for (const Json& node : json["host"]) {
    ++host[node["op"]];
  }
  const auto listed = [](const std::map<std::string, std::size_t>& counts) {
    std::string names;
    for (const auto& [name, count] : counts) {
      names += fmt::format("{}{} {}", names.empty() ? "" : ", ", name, count);
    }
    return names.empty() ? std::string("none") : names;
  };
  return fmt::format("regions  {}: {}\nhost     {}: {}\n", json["regions"].size(),
                     listed(units), json["host"].size(), listed(host)) +
         text;
}

/// Each region, what is left, and what is in them; the folder is whole or not there.
void write_folder(const fs::path& folder, const Json& json, const Partition& partition) {
  const fs::path unfinished = folder.string() + ".part";
  fs::create_directory(unfinished);
  try {
    for (std::size_t i = 0; i < partition.regions.size(); ++i) {
      write_text(unfinished / (file_name(i) + ".tir"),
                 print(region_graph(partition.graph, partition.regions[i])));
    }
    write_text(unfinished / "remainder.tir",
               print(with_region_nodes(partition.graph, partition.regions)));
    write_text(unfinished / "regions.json", to_text(json));
    fs::rename(unfinished, folder);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(unfinished, ignored);
    throw;
  }
}

/// A folder of that name may hold something else.
void require_new_folder(const fs::path& folder) {
  std::error_code unknown;
  if (fs::exists(folder, unknown) || fs::exists(folder.string() + ".part", unknown)) {
    throw Error(ErrorCode::kIo, folder.string(), "exists already")
        .expected("a folder that is to be made");
  }
  const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  if (!fs::is_directory(parent, unknown)) {
    throw Error(ErrorCode::kIo, folder.string(),
                "there is no folder '" + parent.string() + "'");
  }
}

int partition_model(const Options& options, const Console& console) {
  const std::string model = options.text("MODEL");
  const fs::path folder = options.text("output");
  return during("partitioning '" + model + "'", [&] {
    if (options.has("output")) {
      require_new_folder(folder);
    }
    const Configuration configuration = read_configuration(options);
    const std::vector<OffloadPattern> patterns = units_of(options, configuration);
    std::unique_ptr<Dataset> data;
    if (options.has("data")) {
      data = open_samples(options.text("data"), model, configuration.config, console);
    }
    Partition result{graph_at_stage(options, data.get(), console), {}};
    result.regions = partition(result.graph, patterns);
    const Json json = as_json(model, result);
    if (options.has("output")) {
      write_folder(folder, json, result);
    }
    console.print(options.has("json") ? to_text(json) : regions_text(json, console.out()));
    return 0;
  });
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(partition) {
  using namespace tare::cli;
  std::vector<Flag> flags{
      {.name = "pattern",
       .value = "TEXT",
       .summary = "what the device runs as one, such as 'Relu?(Requantize(Conv))', larger ones "
                  "first",
       .repeated = true},
      {.name = "units",
       .value = "FILE",
       .summary = "the same from YAML: 'units' with a list of 'name' and 'pattern'; by default "
                  "those of the target, or all that is on integers"},
      {.name = "output",
       .letter = 'o',
       .value = "FOLDER",
       .summary = "each region as a model, what is left, with a node for each region, and "
                  "regions.json with the integers that rescale"},
      stage_flag("integer"),
      data_flag(false)};
  append(flags, config_flags());
  append(flags, {threads_flag(), samples_flag()});
  return {.task = Task::kParts,
          .summary = "take out of a quantized model what a device runs as one",
          .arguments = {{"MODEL", "float or quantized model: ONNX or TensorFlow Lite"}},
          .flags = std::move(flags),
          .examples =
              {"tare partition model.int8.onnx",
               "tare partition model.int8.onnx --pattern 'Relu?(Requantize(Conv))' -o parts",
               "tare partition model.onnx --data samples.h5 --target npu.yaml -o parts"},
          .run = partition_model};
}
