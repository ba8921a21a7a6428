
#include "tare/graph.h"
#include "tare/statistics.h"

#include "base/hash.h"
#include "calibrate/rounding/accumulators.h"
#include "equalize/equalize.h"
#include "graph/arithmetic/per_axis.h"
#include "io/config_reader.h"
#include "pipeline/store/rounding_text.h"
#include "pipeline/store/table_names.h"
#include "pipeline/store/table_rules.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace tare {
namespace {

/// Every number of a file takes some twenty times its text in memory.
constexpr std::size_t kMebibytes = 32;

/// Elements of the row that is added to each accumulator, by its point.
std::map<std::string, std::size_t> bias_rows(const SimulatedGraph& simulated) {
  std::map<std::string, std::size_t> rows;
  for (const NodeId id : simulated.graph.nodes()) {
    const Node& node = simulated.graph.node(id);
    if (node.op == "SimulatedQuantize") {
      const TensorType& type = simulated.graph.type(node.outputs[0]);
      rows[type.point] = static_cast<std::size_t>(element_count(type.shape));
    }
  }
  return rows;
}

void require_count(const ConfigReader& reader, const std::string& name, std::size_t count,
                   std::size_t expected, ConfigFaults& faults) {
  if (count != expected) {
    faults.add(
        reader.where(name),
        "'" + name + "' holds " + std::to_string(count) + (count == 1 ? " number" : " numbers"),
        std::to_string(expected));
  }
}

struct Entry {
  std::string name;
  Role role = Role::kActivation;
  PointResult result;
  std::string where;
};

/// Reads a file and holds it against the graph that it is for.
class TableReader {
 public:
  explicit TableReader(const SimulatedGraph& simulated)
      : simulated_(simulated), bias_rows_(bias_rows(simulated)) {
    for (const QuantPoint& point : simulated.points) {
      names_.push_back(as_characters(point.name));
      points_.emplace(names_.back(), &point);
    }
  }

  /// The audit gets what the file says of the samples, and a warning for each earlier name.
  QuantTable read(const YamlNode& root, CalibrationAudit& audit) {
    if (root.kind != YamlNode::Kind::kMap) {
      faults_.add(root.where, "the document is " + root.description(), "a map of keys");
      faults_.raise();
    }
    ConfigReader reader(root, faults_);
    read_header(reader, audit);
    // Checked by factors() and float_nodes().
    std::map<std::string, std::vector<float>> factors;
    reader.values("equalization", factors, positive());
    std::vector<std::string> float_nodes;
    reader.values("keep_float", float_nodes, any_text());
    std::vector<Entry> entries;
    reader.list("points", entries, "",
                [&](ConfigReader& inner, Entry& entry) { read_entry(inner, entry); });
    require_keys(reader, {"version", "target", "model", "points"});
    reader.finish();
    for (const std::string& name : same_model_ ? names_ : std::vector<std::string>{}) {
      if (!where_.contains(name)) {
        faults_.add(reader.where("points"), "point '" + name + "' is missing", {});
      }
    }
    faults_.raise();
    QuantTable table;
    for (Entry& entry : entries) {
      table.emplace(points_.at(entry.name)->name, std::move(entry.result));
    }
    derive(table);
    faults_.raise();
    audit.warnings = std::move(warnings_);
    return table;
  }

 private:
  void read_header(ConfigReader& reader, CalibrationAudit& audit) {
    std::int64_t version = 0;
    std::string text;
    std::map<std::string, Shape> shapes;
    reader.key("version", version, integer(1, 1));
    reader.key("tool", text, any_text());
    reader.key("target", text, only(simulated_.target.name, "as the configuration says"));
    const std::string model = hexadecimal(model_digest(simulated_.source));
    text.clear();
    reader.key("model", text,
               only(model, reader.has("equalization")
                               ? "as tables belong to one model and its equalization"
                               : "as tables belong to one model"));
    same_model_ = text == model;
    reader.key("data", audit.data, hexadecimal_number());
    reader.key("samples", audit.samples, integer(0));
    reader.values("inputs", shapes, integer(1));
  }

  void read_entry(ConfigReader& reader, Entry& entry) {
    entry.where = reader.where();
    reader.key("name", entry.name, any_text());
    reader.key("role", entry.role, one_of(role_names()));
    reader.key("enabled", entry.result.enabled, truth());
    require_keys(reader, {"name", "role"});
    const QuantPoint* point = find(reader, entry);
    if (point != nullptr && entry.role != point->role) {
      faults_.add(reader.where("role"), "point '" + entry.name + "' has another role",
                  name_in(role_names(), point->role));
      entry.role = point->role;
    }
    if (entry.role == Role::kAccumulator) {
      read_correction(reader, entry, point);
    } else {
      read_parameters(reader, entry.result, point);
    }
  }

  /// The point of the graph; null when there is none, which is a fault in a table of this
  /// model.
  const QuantPoint* find(const ConfigReader& reader, const Entry& entry) {
    if (!same_model_ || entry.name.empty()) {
      return nullptr;
    }
    const auto found = points_.find(entry.name);
    if (found == points_.end()) {
      faults_.add(reader.where("name"),
                  "the model as configured has no point '" + entry.name + "'", {},
                  suggestion(entry.name, names_));
      return nullptr;
    }
    if (!where_.emplace(entry.name, entry.where).second) {
      faults_.add(reader.where("name"), "point '" + entry.name + "' is there twice", {});
      return nullptr;
    }
    return found->second;
  }

  void read_correction(ConfigReader& reader, Entry& entry, const QuantPoint* point) {
    const std::size_t faults = faults_.size();
    std::vector<float>& values = entry.result.bias_correction;
    reader.values("bias_correction", values, real());
    if (point == nullptr || values.empty() || faults_.size() > faults) {
      return;
    }
    const auto row = bias_rows_.find(point->name);
    if (row == bias_rows_.end()) {
      faults_.add(reader.where("bias_correction"), "nothing is added to '" + entry.name + "'",
                  "no 'bias_correction'");
    } else {
      require_count(reader, "bias_correction", values.size(), row->second, faults_);
    }
  }

  void read_parameters(ConfigReader& reader, PointResult& result, const QuantPoint* point) {
    const std::size_t faults = faults_.size();
    QuantParams& params = result.params;
    std::optional<std::int64_t> axis;
    std::int64_t block = 0;
    reader.key("storage", params.storage, one_of(storage_names()));
    reader.key("narrow", params.narrow_range, truth());
    reader.key("bits", params.bits, integer(2, 8));
    reader.key("axis", axis, integer(0));
    reader.key("block", block, integer(1));
    std::vector<float> scales;
    reader.values("scale", scales, positive());
    params.scale = scales;
    const StorageRange storage = params.range();
    std::vector<std::int32_t> zero_points;
    reader.values("zero_point", zero_points, integer(storage.low, storage.high));
    params.zero_point = zero_points;
    reader.key("calibrator", result.calibrator, any_text());
    reader.key("elements", result.elements, integer(0));
    reader.values(key_of(reader, "observed", "seen"), result.observed, low_and_high());
    reader.values(key_of(reader, "calibrated", "chosen"), result.calibrated, low_and_high());
    reader.key("clipped", result.clipped, two_shares());
    reader.values("widened_channels", result.widened_channels,
                  integer(0, std::numeric_limits<int>::max()));
    require_keys(reader, {"storage", "scale", "zero_point"});
    std::vector<std::string> letters;
    reader.values("rounding", letters, any_text());
    if (point != nullptr && point->role != Role::kWeight && params.bits != 0) {
      // Files have whole storage types only: what computes them would not saturate there.
      faults_.add(reader.where("bits"), "'bits' is given for what is no weight", {});
    }
    if (point != nullptr && size_of(params.storage) == 2 && !takes(*point, params.storage)) {
      faults_.add(reader.where("storage"),
                  "'storage' of '" + point->name + "' is of 16 bits, which " +
                      (point->reader ? std::string("weights")
                                     : "activations for '" + simulated_.target.name + "'") +
                      " do not have",
                  "int8 or uint8");
    }
    if (point != nullptr && faults_.size() == faults) {
      set_axis(reader, axis, block, *point, params);
      set_rounding(reader, letters, *point, result);
    }
  }

  /// The key of an entry that has been renamed: the earlier one where the entry has that alone.
  std::string key_of(const ConfigReader& reader, const std::string& name,
                     const std::string& earlier) {
    if (reader.has(name) || !reader.has(earlier)) {
      return name;
    }
    if (earlier_names_.insert(earlier).second) {
      warnings_.push_back({"earlier_name", reader.where(earlier),
                           "'" + earlier + "' is called '" + name + "' now"});
    }
    return earlier;
  }

  /// Whether the target has activations, and constants among them, of that type.
  bool takes(const QuantPoint& point, DType storage) const {
    const auto& wide = simulated_.target.wide_activations;
    return !point.reader && std::find(wide.begin(), wide.end(), storage) != wide.end();
  }

  void set_rounding(const ConfigReader& reader, const std::vector<std::string>& letters,
                    const QuantPoint& point, PointResult& result) {
    if (letters.empty()) {
      return;
    }
    if (point.role != Role::kWeight) {
      faults_.add(reader.where("rounding"), "'rounding' is given for what is no weight", {});
      return;
    }
    std::string all;
    for (const std::string& part : letters) {
      all += part;
    }
    const auto count =
        static_cast<std::size_t>(element_count(simulated_.source.type(point.value).shape));
    const auto rounding = parse_rounding(all, count);
    if (rounding) {
      result.rounding = *rounding;
    } else {
      faults_.add(reader.where("rounding"), "'rounding' does not say how to round",
                  "letters for " + std::to_string(count) + " weights");
    }
  }

  /// One number stands for all channels or blocks.
  void set_axis(const ConfigReader& reader, std::optional<std::int64_t> axis,
                std::int64_t block, const QuantPoint& point, QuantParams& params) {
    if (point.spec.granularity == Granularity::kPerAxis) {
      params.axis = point.spec.axis;
      params.block = point.spec.block;
    }
    const auto channels = static_cast<std::size_t>(element_count(
        parameter_shape(simulated_.source.type(point.value).shape, params.axis, params.block)));
    if (block != params.block) {
      faults_.add(
          reader.where("block"),
          block != 0 ? "'block' is " + std::to_string(block) : "'block' is missing",
          params.block != 0 ? std::to_string(params.block) : "no 'block': none is configured");
    }
    const std::optional<std::int64_t> wanted = params.axis;
    if (axis != wanted) {
      faults_.add(reader.where("axis"),
                  axis ? "'axis' is " + std::to_string(*axis) : "'axis' is missing",
                  wanted ? std::to_string(*wanted) : "no 'axis': one scale is configured");
    }
    const auto fill = [&](auto& values, const char* name) {
      if (values.size() == 1) {
        values = std::vector(channels, values[0]);
      }
      require_count(reader, name, values.size(), channels, faults_);
    };
    fill(params.scale, "scale");
    fill(params.zero_point, "zero_point");
  }

  void require_keys(const ConfigReader& reader, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (!reader.has(name)) {
        faults_.add(reader.where(), std::string("'") + name + "' is missing", {});
      }
    }
  }

  void derive(QuantTable& table) {
    std::vector<const QuantPoint*> accumulators;
    for (const QuantPoint& point : simulated_.points) {
      if (point.role == Role::kAccumulator) {
        accumulators.push_back(&point);
      }
    }
    derive_accumulators(simulated_, accumulators, {}, table);
    for (const QuantPoint* point : accumulators) {
      const SharedArray<float>& scales = table.at(point->name).params.scale;
      if (!std::all_of(scales.begin(), scales.end(),
                       [](float scale) { return std::isfinite(scale) && scale > 0; })) {
        faults_.add(where_.at(as_characters(point->name)),
                    "no float32 is the product of the scales of '" + point->input + "' and '" +
                        point->weight + "'",
                    {});
      }
    }
  }

  const SimulatedGraph& simulated_;
  std::map<std::string, std::size_t> bias_rows_;
  std::vector<std::string> names_;  ///< as a file has them
  std::map<std::string, const QuantPoint*> points_;
  std::map<std::string, std::string> where_;  ///< of the entries that were found
  bool same_model_ = false;
  ConfigFaults faults_;
  std::set<std::string> earlier_names_;  ///< that the warnings are about
  std::vector<Warning> warnings_;
};

}  // namespace

TableFile::TableFile(const std::filesystem::path& path) {
  YamlNode root = read_yaml(path, kMebibytes);
  if (root.where.empty()) {
    root.where = path.string();
  }
  root_ = std::make_shared<const YamlNode>(std::move(root));
}

std::map<std::string, Shape> TableFile::inputs() const {
  ConfigFaults faults;
  std::map<std::string, Shape> shapes;
  ConfigReader(*root_, faults).values("inputs", shapes, integer(1));
  return shapes;
}

ChannelFactors TableFile::factors(const Graph& prepared) const {
  std::map<std::string, ValueId> known;  // by the name that a file has
  std::vector<std::string> names;
  for (const ValueId value : prepared.values()) {
    if (prepared.producer(value)) {
      names.push_back(as_characters(prepared.name(value)));
      known.emplace(names.back(), value);
    }
  }
  ConfigFaults faults;
  ConfigReader reader(*root_, faults);
  ChannelFactors result;
  reader.each_name("equalization", [&](ConfigReader& inner, const std::string& name) {
    const auto found = known.find(name);
    if (found == known.end()) {
      faults.add(inner.where(name), "the model has no value '" + name + "'", {},
                 suggestion(name, names));
      return;
    }
    const std::size_t before = faults.size();
    std::vector<float>& factors = result[prepared.name(found->second)];
    inner.values(name, factors, positive());
    if (faults.size() == before) {
      require_count(inner, name, factors.size(), factor_count(prepared, found->second), faults);
    }
  });
  faults.raise();
  return result;
}

std::set<std::string> TableFile::float_nodes(const Graph& prepared) const {
  std::map<std::string, std::string> known;  // by the name that a file has
  std::vector<std::string> names;
  for (const NodeId id : prepared.nodes()) {
    const std::string& name = prepared.node(id).name;
    names.push_back(as_characters(name));
    known.emplace(names.back(), name);
  }
  ConfigFaults faults;
  ConfigReader reader(*root_, faults);
  std::vector<std::string> written;
  reader.values("keep_float", written, any_text());
  std::set<std::string> result;
  for (const std::string& name : written) {
    const auto found = known.find(name);
    if (found == known.end()) {
      faults.add(reader.where("keep_float"), "the model has no node '" + name + "'", {},
                 suggestion(name, names));
    } else {
      result.insert(found->second);
    }
  }
  faults.raise();
  return result;
}

QuantTable TableFile::table(const SimulatedGraph& simulated, CalibrationAudit* audit) const {
  CalibrationAudit own;
  QuantTable table = TableReader(simulated).read(*root_, own);
  if (audit != nullptr) {
    *audit = std::move(own);
  }
  return table;
}

}  // namespace tare
