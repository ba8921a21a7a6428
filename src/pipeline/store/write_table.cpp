#include "tare/quantize.h"
#include "tare/statistics.h"

#include "base/hash.h"
#include "base/output_file.h"
#include "base/version.h"
#include "equalize/equalize.h"
#include "graph/text/literal.h"
#include "pipeline/store/rounding_text.h"
#include "pipeline/store/table_names.h"

#include <algorithm>
#include <limits>

namespace tare {
namespace {

constexpr std::size_t kWidth = 100;

template <class T>
std::string number(T value) {
  std::string text;
  append_literal(text, value);
  return text;
}

/// Ranges are for people: nine digits say enough, and they stay the same however often the file
/// is read and written.
std::string rounded(double value) {
  constexpr auto kLargest = static_cast<double>(std::numeric_limits<float>::max());
  return number(static_cast<float>(std::clamp(value, -kLargest, kLargest)));
}

std::string pair(double low, double high) {
  std::string text = "[";
  text += rounded(low);
  text += ", ";
  text += rounded(high);
  text += "]";
  return text;
}

std::string text_of(float value) {
  return number(value);
}
std::string text_of(std::int32_t value) {
  return number(value);
}
std::string text_of(std::int64_t value) {
  return number(value);
}
std::string text_of(const Range& range) {
  return pair(range.low, range.high);
}

std::string text_of(const std::string& text) {
  return yaml_scalar(text);
}

std::vector<std::string> in_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < text.size(); first += kWidth - 10) {
    lines.push_back(text.substr(first, kWidth - 10));
  }
  return lines;
}

/// The lines of a file, one key after another.
class Lines {
 public:
  const std::string& text() const { return text_; }

  void blank() { text_ += "\n"; }
  void key(const std::string& name, const std::string& value) {
    text_ += indent_ + name + ": " + value + "\n";
  }
  void truth(const std::string& name, bool value) { key(name, value ? "true" : "false"); }

  /// In as many lines as it takes.
  template <class T>
  void list(const std::string& name, const std::vector<T>& values) {
    std::string line = indent_ + name + ": [";
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string item = text_of(values[i]) + (i + 1 < values.size() ? "," : "]");
      if (line.size() + 1 + item.size() > kWidth) {
        text_ += line + "\n";
        line = indent_ + "  " + item;
      } else {
        line += (i == 0 ? "" : " ") + item;
      }
    }
    text_ += line + (values.empty() ? "]\n" : "\n");
  }
  template <class T>
  void one_or_list(const std::string& name, const std::vector<T>& values) {
    if (values.size() == 1) {
      key(name, text_of(values[0]));
    } else {
      list(name, values);
    }
  }

  void open_map(const std::string& name) {
    text_ += indent_ + name + ":\n";
    indent_ += "  ";
  }
  /// The next key begins an entry of a list.
  void open_entry(const std::string& name, const std::string& value) {
    text_ += indent_ + "- " + name + ": " + value + "\n";
    indent_ += "  ";
  }
  void close() { indent_.resize(indent_.size() - 2); }

 private:
  std::string text_;
  std::string indent_;
};

void add_parameters(const PointResult& result, Lines& lines) {
  const QuantParams& params = result.params;
  lines.key("storage", name_in(storage_names(), params.storage));
  if (params.narrow_range) {
    lines.truth("narrow", true);
  }
  if (params.bits != 0) {
    lines.key("bits", number(std::int64_t{params.bits}));
  }
  if (params.axis) {
    lines.key("axis", number(std::int64_t{*params.axis}));
  }
  if (params.block != 0) {
    lines.key("block", number(std::int64_t{params.block}));
  }
  lines.one_or_list("scale", params.scale.to_vector());
  const auto& zeros = params.zero_point;
  const bool all_equal = std::all_of(zeros.begin(), zeros.end(),
                                     [&](std::int32_t zero) { return zero == zeros[0]; });
  lines.one_or_list("zero_point", all_equal ? std::vector{zeros[0]} : zeros.to_vector());
  if (!result.calibrator.empty()) {
    lines.key("calibrator", yaml_scalar(result.calibrator));
  }
  lines.key("elements", number(result.elements));
  lines.one_or_list("observed", result.observed);
  lines.one_or_list("calibrated", result.calibrated);
  if (result.clipped) {
    lines.key("clipped", pair(result.clipped->low, result.clipped->high));
  }
  if (!result.widened_channels.empty()) {
    lines.list("widened_channels", result.widened_channels);
  }
  if (!result.rounding.empty()) {
    lines.list("rounding", in_lines(rounding_letters(result.rounding)));
  }
}

void add_point(const QuantPoint& point, const PointResult& result, Lines& lines) {
  lines.blank();
  lines.open_entry("name", yaml_scalar(point.name));
  lines.key("role", name_in(role_names(), point.role));
  lines.truth("enabled", result.enabled);
  if (point.role != Role::kAccumulator) {
    add_parameters(result, lines);
  } else if (!result.bias_correction.empty()) {
    lines.list("bias_correction", result.bias_correction);
  }
  lines.close();
}

std::string text_of(const QuantizeResult& result) {
  const SimulatedGraph& simulated = result.simulated;
  Lines lines;
  lines.key("version", "1");
  lines.key("tool", yaml_scalar("tare " + version()));
  lines.key("target", yaml_scalar(simulated.target.name));
  lines.key("model", yaml_scalar(hexadecimal(model_digest(simulated.source))));
  lines.key("data", yaml_scalar(hexadecimal(result.audit.data)));
  lines.key("samples", number(result.audit.samples));
  lines.open_map("inputs");
  for (const ValueId input : simulated.source.inputs()) {
    const Shape& shape = simulated.source.type(input).shape;
    lines.list(yaml_scalar(simulated.source.name(input)),
               shape.empty() ? shape : Shape(shape.begin() + 1, shape.end()));
  }
  lines.close();
  if (!result.factors.empty()) {
    lines.open_map("equalization");
    for (const auto& [value, factor] : result.factors) {
      lines.list(yaml_scalar(value), factor);
    }
    lines.close();
  }
  if (!result.float_nodes.empty()) {
    lines.list("keep_float", std::vector(result.float_nodes.begin(), result.float_nodes.end()));
  }
  lines.open_map("points");
  for (const QuantPoint& point : simulated.points) {
    add_point(point, result.table.at(point.name), lines);
  }
  return "# Quantization parameters. To use them: tare quantize MODEL --table FILE -o "
         "OUT.onnx\n" +
         lines.text();
}

}  // namespace

void write_table(const std::filesystem::path& path, const QuantizeResult& result) {
  OutputFile output(path);
  output.append(text_of(result));
  output.commit();
}

}  // namespace tare
