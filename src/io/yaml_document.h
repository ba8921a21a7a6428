#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tare {

/// A YAML document as a tree that remembers where everything stood.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string where{};  ///< "file:line:column", or the name of the source
  std::string text{};   ///< of a scalar
  bool quoted = false;  ///< of a scalar: never a number or truth value then
  std::vector<YamlNode> items{};
  std::vector<std::pair<YamlNode, YamlNode>> entries{};  ///< keys are scalars and differ

  /// For messages: the text in quotes, or what kind of thing it is.
  std::string description() const;
};

/// What a text is called in messages.
struct YamlSource {
  std::string name;
  bool has_lines = true;  ///< false: positions within it say nothing
};

/// Parses one document. An empty text is kNull.
/// Throws Error(kInvalidConfig) with line and column for text that is not YAML, has duplicate
/// keys, uses anchors and aliases, or is nested more than 32 deep.
YamlNode parse_yaml(const std::string& text, const YamlSource&);

/// Throws Error(kIo) when the file cannot be read or has more than that many MiB.
YamlNode read_yaml(const std::filesystem::path&, std::size_t mebibytes = 1);

}  // namespace tare
