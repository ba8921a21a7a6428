// Reads the textual form of a graph (docs/textual_ir.md) by recursive descent, in one pass.
// Memory grows with the text, whatever sizes the text claims.
#include "tare/error.h"
#include "tare/graph.h"

#include "graph/ir/verify.h"
#include "graph/text/scanner.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : scan_(text) {}

  Graph parse() {
    scan_.expect("graph");
    graph_.graph_name = scan_.quoted_text("the graph's name in quotes");
    scan_.expect("opset");
    graph_.opset = scan_.literal<int>("an opset number");
    scan_.expect("(");
    each(")", [&] {
      auto [name, type] = definition();
      graph_.add_input(std::move(name), std::move(type));
    });
    scan_.expect("->");
    scan_.expect("(");
    std::vector<Named> outputs;
    each(")", [&] { outputs.push_back(value_name()); });
    scan_.expect("{");
    while (!scan_.accept("}")) {
      statement();
    }
    if (!scan_.at_end()) {
      scan_.fail_expected("nothing after the graph");
    }
    set_outputs(outputs);
    return std::move(graph_);
  }

 private:
  struct Named {
    std::string name;
    std::size_t position;
  };

  [[noreturn]] void fail(std::size_t position, std::string what) const {
    throw Error(ErrorCode::kInvalidModel, scan_.place(position), std::move(what));
  }

  /// item, item, ... up to and with `close`.
  template <class F>
  void each(std::string_view close, F&& item) {
    if (scan_.accept(close)) {
      return;
    }
    do {
      item();
    } while (scan_.accept(","));
    scan_.expect(close);
  }

  // ---- values and types
  // -----------------------------------------------------------------------

  Named value_name() {
    const std::size_t position = scan_.position();
    scan_.expect("%");
    return {scan_.name("a name"), position};
  }

  std::string new_value_name() {
    Named value = value_name();
    if (graph_.find_value(value.name)) {
      fail(value.position, "value '" + value.name + "' is defined already");
    }
    return std::move(value.name);
  }

  ValueId known(const Named& value) const {
    const auto id = graph_.find_value(value.name);
    if (!id) {
      fail(value.position, "value '" + value.name + "' is not defined");
    }
    return *id;
  }

  ValueId operand() { return scan_.accept_word("_") ? ValueId{} : known(value_name()); }

  void set_outputs(const std::vector<Named>& outputs) {
    if (outputs.empty()) {
      throw Error(ErrorCode::kInvalidModel, "", "the graph has no outputs");
    }
    std::vector<ValueId> ids;
    for (const Named& output : outputs) {
      ids.push_back(known(output));
    }
    graph_.set_outputs(std::move(ids));
  }

  DType dtype() {
    const std::size_t position = scan_.position();
    const std::string name = scan_.name("an element type");
    try {
      return dtype_from_name(name);
    } catch (Error& error) {
      throw error.at(scan_.place(position));
    }
  }

  /// dtype[extent, name=extent, ...]; names go to `dimensions`, empty ones where there is none.
  TensorType plain_type(std::vector<std::string>* dimensions) {
    TensorType type{.dtype = dtype(), .shape = {}, .quant = {}, .point = {}};
    scan_.expect("[");
    each("]", [&] {
      std::string name;
      if (dimensions != nullptr && scan_.at_name_before("=")) {
        name = scan_.name("the name of a dimension");
        scan_.expect("=");
      }
      if (dimensions != nullptr) {
        dimensions->push_back(std::move(name));
      }
      type.shape.push_back(scan_.literal<std::int64_t>("an extent"));
    });
    return type;
  }

  template <class T>
  std::vector<T> list(std::string_view what) {
    std::vector<T> result;
    scan_.expect("[");
    each("]", [&] { result.push_back(scan_.literal<T>(what)); });
    return result;
  }

  /// What follows "q(".
  QuantParams params(DType storage) {
    QuantParams params{.storage = storage, .scale = {}, .zero_point = {}, .axis = {}};
    if (scan_.accept_word("axis")) {
      scan_.expect("=");
      params.axis = scan_.literal<int>("an axis");
      scan_.expect(",");
      if (scan_.accept_word("block")) {
        scan_.expect("=");
        params.block = scan_.literal<int>("a number of neighbours");
        scan_.expect(",");
      }
      params.scale = list<float>("a scale");
      scan_.expect(",");
      params.zero_point = list<std::int32_t>("a zero point");
    } else {
      params.scale = {scan_.literal<float>("a scale")};
      scan_.expect(",");
      params.zero_point = {scan_.literal<std::int32_t>("a zero point")};
    }
    while (scan_.accept(",")) {
      if (scan_.accept_word("bits")) {
        scan_.expect("=");
        params.bits = scan_.literal<int>("a number of bits");
      } else {
        scan_.expect("narrow");
        params.narrow_range = true;
      }
    }
    scan_.expect(")");
    return params;
  }

  /// Throws at `position` when the type breaks a rule of verify().
  void require_valid(std::size_t position, const TensorType& type) const {
    Faults faults;
    verify_type(scan_.place(position), type, faults);
    faults.raise(ErrorCode::kInvalidModel);
  }

  /// The type of the value with that name, whose dimension names it may carry.
  TensorType type_of(const std::string& value) {
    const std::size_t position = scan_.position();
    std::vector<std::string> dimensions;
    TensorType type = plain_type(&dimensions);
    for (const std::string& dimension : dimensions) {
      if (!dimension.empty()) {
        graph_.dimension_names[value] = std::move(dimensions);
        break;
      }
    }
    if (scan_.accept("q(")) {
      type.quant = params(type.dtype);
    } else if (scan_.at_name_before("q(")) {
      const DType storage = dtype();
      scan_.expect("q(");
      type.quant = params(storage);
    }
    if (scan_.accept("@")) {
      type.point = scan_.name("the name of a quantization point");
    }
    require_valid(position, type);
    return type;
  }

  std::pair<std::string, TensorType> definition() {
    std::string name = new_value_name();
    scan_.expect(":");
    TensorType type = type_of(name);
    return {std::move(name), std::move(type)};
  }

  /// [element, ...] of exactly that type. Memory grows with the text, not with the shape.
  Tensor elements(const TensorType& type) {
    const std::size_t position = scan_.position();
    const std::string what = "an element of type " + std::string(name_of(type.dtype));
    std::vector<std::byte> bytes;
    scan_.expect("[");
    with_element_type(type.dtype, [&](auto tag) {
      each("]", [&] {
        const auto element = scan_.literal<decltype(tag)>(what);
        const auto* first = reinterpret_cast<const std::byte*>(&element);
        bytes.insert(bytes.end(), first, first + sizeof element);
      });
    });
    const std::size_t count = bytes.size() / size_of(type.dtype);
    if (static_cast<std::int64_t>(count) != element_count(type.shape)) {
      throw Error(ErrorCode::kInvalidModel, scan_.place(position),
                  std::to_string(count) + " elements for shape " + to_string(type.shape))
          .expected(std::to_string(element_count(type.shape)));
    }
    Tensor tensor(type.dtype, type.shape);
    std::copy(bytes.begin(), bytes.end(), tensor.mutable_data());
    return tensor;
  }

  // ---- attributes
  // -----------------------------------------------------------------------------

  Attribute attribute() {
    if (scan_.peek() == '"') {
      return scan_.quoted_text("a text");
    }
    if (scan_.accept_word("strings")) {
      return typed_list<std::string>();
    }
    if (scan_.accept_word("floats")) {
      return typed_list<float>();
    }
    if (scan_.accept("[")) {
      return attribute_list();
    }
    switch (scan_.number_kind()) {
      case NumberKind::kInteger:
        return scan_.literal<std::int64_t>("an integer");
      case NumberKind::kReal:
        return scan_.literal<float>("a float");
      case NumberKind::kNone:
        break;
    }
    const std::size_t position = scan_.position();
    const TensorType type = plain_type(nullptr);
    require_valid(position, type);
    return elements(type);
  }

  template <class T>
  T list_item() {
    if constexpr (std::is_same_v<T, std::string>) {
      return scan_.quoted_text("a text");
    } else {
      return scan_.literal<T>(std::is_same_v<T, float> ? "a float" : "an integer");
    }
  }

  template <class T>
  std::vector<T> rest_of_list() {
    std::vector<T> items;
    each("]", [&] { items.push_back(list_item<T>()); });
    return items;
  }

  template <class T>
  std::vector<T> typed_list() {
    scan_.expect("[");
    return rest_of_list<T>();
  }

  /// The first item says what the others are; without any, they would have been integers.
  Attribute attribute_list() {
    if (scan_.peek() == '"') {
      return rest_of_list<std::string>();
    }
    if (scan_.number_kind() == NumberKind::kReal) {
      return rest_of_list<float>();
    }
    return rest_of_list<std::int64_t>();
  }

  // ---- statements
  // -----------------------------------------------------------------------------

  void statement() {
    if (scan_.peek() == '%') {
      node({}, scan_.position());
      return;
    }
    const std::size_t position = scan_.position();
    std::string word = scan_.name("a statement or '}'");
    if (scan_.accept(":")) {
      node(std::move(word), position);
    } else if (word == "const") {
      auto [name, type] = definition();
      scan_.expect("=");
      Tensor tensor = elements(type);
      graph_.add_constant(std::move(name), std::move(tensor), std::move(type));
    } else if (word == "dims") {
      dimensions();
    } else if (word == "filetype") {
      file_types();
    } else {
      scan_.fail_expected("':' after the name of a node");
    }
  }

  void dimensions() {
    Named value = value_name();
    std::vector<std::string> names;
    scan_.expect("[");
    each("]", [&] {
      names.push_back(scan_.accept_word("_") ? "" : scan_.name("the name of a dimension or _"));
    });
    graph_.dimension_names.insert_or_assign(std::move(value.name), std::move(names));
  }

  void file_types() {
    const std::size_t position = scan_.position();
    const DType type = dtype();
    if (!is_float(type)) {
      fail(position, "'" + std::string(name_of(type)) + "' is no floating type");
    }
    scan_.expect("[");
    each("]", [&] { graph_.file_types.insert_or_assign(value_name().name, type); });
  }

  std::string operator_name() {
    const std::size_t position = scan_.position();
    std::string op = scan_.name("an operator");
    if (op.empty()) {
      fail(position, "the name of an operator is empty");
    }
    return op;
  }

  void node(std::string name, std::size_t position) {
    std::vector<NamedType> results;
    do {
      results.push_back({new_value_name(), {}});
    } while (scan_.accept(","));
    scan_.expect("=");
    std::string op = operator_name();
    std::vector<ValueId> inputs;
    scan_.expect("(");
    each(")", [&] { inputs.push_back(operand()); });
    Attributes attributes;
    if (scan_.accept("{")) {
      each("}", [&] {
        const std::size_t start = scan_.position();
        std::string key = scan_.name("the name of an attribute");
        if (attributes.has(key)) {
          fail(start, "attribute '" + key + "' is given twice");
        }
        scan_.expect("=");
        attributes.set(std::move(key), attribute());
      });
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      scan_.expect(i == 0 ? ":" : ",");
      results[i].type = type_of(results[i].name);
    }
    try {
      graph_.add_node(std::move(name), std::move(op), std::move(inputs), std::move(results),
                      std::move(attributes));
    } catch (Error& error) {
      throw error.at(scan_.place(position));
    }
  }

  Scanner scan_;
  Graph graph_;
};

}  // namespace

Graph parse(std::string_view textual_ir) {
  return Parser(textual_ir).parse();
}

}  // namespace tare
