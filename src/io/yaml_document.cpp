#include "io/yaml_document.h"

#include "tare/error.h"

#include "base/input_file.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace tare {
namespace {

constexpr std::size_t kMaxDepth = 32;

std::string place(const YamlSource& source, const YAML::Mark& mark) {
  return mark.is_null() || !source.has_lines
             ? source.name
             : source.name + ":" + std::to_string(mark.line + 1) + ":" +
                   std::to_string(mark.column + 1);
}

/// Builds the tree from the parser's events. The parser's own tree would merge duplicate keys
/// and expand aliases, which a small file can make arbitrarily large.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const YamlSource& source) : source_(source) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    add(node(YamlNode::Kind::kNull, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_alias(mark); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_alias(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    YamlNode scalar = node(YamlNode::Kind::kScalar, mark);
    scalar.text = value;
    scalar.quoted = tag == "!";
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(node(YamlNode::Kind::kList, mark), mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(node(YamlNode::Kind::kMap, mark), mark);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    std::optional<YamlNode> key;  // of a map: the next node is its value
  };

  YamlNode node(YamlNode::Kind kind, const YAML::Mark& mark) const {
    YamlNode result;
    result.kind = kind;
    result.where = place(source_, mark);
    return result;
  }

  [[noreturn]] void refuse_alias(const YAML::Mark& mark) const {
    throw Error(ErrorCode::kInvalidConfig, place(source_, mark),
                "anchors and aliases are not supported");
  }

  void open(YamlNode node, const YAML::Mark& mark) {
    if (open_.size() == kMaxDepth) {
      throw Error(ErrorCode::kInvalidConfig, place(source_, mark),
                  "nested more than " + std::to_string(kMaxDepth) + " deep");
    }
    open_.push_back({std::move(node), std::nullopt});
  }

  void close() {
    YamlNode done = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(done));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.key) {
      parent.node.entries.emplace_back(std::move(*parent.key), std::move(node));
      parent.key.reset();
    } else {
      require_new_key(parent.node, node);
      parent.key = std::move(node);
    }
  }

  static void require_new_key(const YamlNode& map, const YamlNode& key) {
    if (key.kind != YamlNode::Kind::kScalar) {
      throw Error(ErrorCode::kInvalidConfig, key.where, "a key is " + key.description())
          .expected("a name");
    }
    const auto same = [&](const auto& entry) { return entry.first.text == key.text; };
    if (std::any_of(map.entries.begin(), map.entries.end(), same)) {
      throw Error(ErrorCode::kInvalidConfig, key.where, "duplicate key '" + key.text + "'");
    }
  }

  const YamlSource& source_;
  YamlNode root_;
  std::vector<Open> open_;
};

/// Control characters are no YAML, but the parser would take them.
void require_text(const std::string& text, const YamlSource& source) {
  YAML::Mark mark;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == '\n') {
      ++mark.line;
      mark.column = 0;
      continue;
    }
    if ((byte < 0x20 && byte != '\t' && byte != '\r') || byte == 0x7F) {
      throw Error(ErrorCode::kInvalidConfig, place(source, mark), "is not text");
    }
    ++mark.column;
  }
}

}  // namespace

std::string YamlNode::description() const {
  switch (kind) {
    case Kind::kNull:
      return "empty";
    case Kind::kScalar:
      return "'" + text + "'";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return {};
}

YamlNode parse_yaml(const std::string& text, const YamlSource& source) {
  require_text(text, source);
  TreeBuilder builder(source);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) {
      YamlNode root = builder.take();
      TreeBuilder further(source);
      if (parser.HandleNextDocument(further)) {
        throw Error(ErrorCode::kInvalidConfig, further.take().where, "a second document")
            .expected("one");
      }
      return root;
    }
    return {};
  } catch (const YAML::Exception& error) {
    throw Error(ErrorCode::kInvalidConfig, place(source, error.mark), error.msg);
  }
}

YamlNode read_yaml(const std::filesystem::path& path, std::size_t mebibytes) {
  const InputFile file(path);
  if (file.size() > mebibytes << 20U) {
    throw Error(ErrorCode::kIo, path.string(),
                "is larger than " + std::to_string(mebibytes) + " MiB");
  }
  return parse_yaml(file.contents(), {path.string()});
}

}  // namespace tare
