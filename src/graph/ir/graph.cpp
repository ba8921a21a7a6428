// The graph: nodes and values in vectors, handles as indices. What is erased leaves a gap, so
// that handles stay valid. The topological order is Kahn's ("Topological Sorting of Large
// Networks", 1962), always with the node that was added first among those that are ready, so it
// is the same in every run. Where the order of adding is topological already, as in files, it
// is kept as it is.
#include "tare/graph.h"

#include "tare/error.h"

#include "base/check.h"
#include "graph/ir/name_index.h"

#include <algorithm>
#include <queue>
#include <set>

namespace tare {

auto Graph::name_of_value() const {
  return [this](std::uint32_t index) -> const std::string& { return values_[index].name; };
}

auto Graph::name_of_node() const {
  return [this](std::uint32_t index) -> const std::string& { return nodes_[index].node.name; };
}

Graph::Graph() = default;
Graph::Graph(const Graph&) = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(const Graph&) = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

ValueId Graph::add_value(Value value) {
  const ValueId id{static_cast<std::uint32_t>(values_.size())};
  if (find_value(value.name)) {
    throw Error(ErrorCode::kInvalidModel, "", "two values are named '" + value.name + "'");
  }
  values_.push_back(std::move(value));
  value_names_.insert(id.index, name_of_value());
  return id;
}

ValueId Graph::add_input(std::string name, TensorType type) {
  Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.is_input = true;
  const ValueId id = add_value(std::move(value));
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_constant(std::string name, Tensor tensor) {
  TensorType type{.dtype = tensor.dtype(), .shape = tensor.shape(), .quant = {}, .point = {}};
  return add_constant(std::move(name), std::move(tensor), std::move(type));
}

ValueId Graph::add_constant(std::string name, Tensor tensor, TensorType type) {
  Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.constant = std::move(tensor);
  return add_value(std::move(value));
}

NodeId Graph::add_node(std::string name, std::string op, std::vector<ValueId> inputs,
                       std::vector<NamedType> outputs, Attributes attributes) {
  check(!outputs.empty(), "a node needs an output");
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  Node node{.name = name.empty() ? outputs.front().name : std::move(name),
            .op = std::move(op),
            .inputs = std::move(inputs),
            .outputs = {},
            .attributes = std::move(attributes),
            .origins = {}};
  if (find_node(node.name)) {
    throw Error(ErrorCode::kInvalidModel, "", "two nodes are named '" + node.name + "'");
  }
  for (const ValueId input : node.inputs) {
    if (input) {
      value(input).users.push_back(id);
    }
  }
  for (NamedType& output : outputs) {
    Value result;
    result.name = std::move(output.name);
    result.type = std::move(output.type);
    result.producer = id;
    node.outputs.push_back(add_value(std::move(result)));
  }
  nodes_.push_back({std::move(node), true});
  node_names_.insert(id.index, name_of_node());
  return id;
}

void Graph::set_outputs(std::vector<ValueId> outputs) {
  for (const ValueId output : outputs) {
    (void)value(output);
  }
  outputs_ = std::move(outputs);
}

void Graph::set_type(ValueId id, TensorType type) {
  value(id).type = std::move(type);
}

void Graph::set_input(NodeId id, std::size_t operand, ValueId input) {
  Node& changed = nodes_.at(id.index).node;
  ValueId& slot = changed.inputs.at(operand);
  if (slot) {
    drop_use(slot, id);
  }
  slot = input;
  if (input) {
    value(input).users.push_back(id);
  }
}

void Graph::set_attributes(NodeId id, Attributes attributes) {
  nodes_.at(id.index).node.attributes = std::move(attributes);
}

void Graph::set_origins(NodeId id, std::vector<Origin> origins) {
  nodes_.at(id.index).node.origins = std::move(origins);
}

void Graph::replace_uses(ValueId before, ValueId after) {
  if (before == after) {
    return;
  }
  const std::vector<NodeId> readers = value(before).users;
  for (const NodeId reader : readers) {
    for (ValueId& input : nodes_[reader.index].node.inputs) {
      if (input == before) {
        input = after;
        value(after).users.push_back(reader);
      }
    }
  }
  value(before).users.clear();
  if (!is_output(before)) {
    return;
  }
  const bool take_name = !is_output(after) && !value(after).is_input;
  std::replace(outputs_.begin(), outputs_.end(), before, after);
  if (take_name) {
    value_names_.erase(value(before).name, name_of_value());
    value_names_.erase(value(after).name, name_of_value());
    std::swap(value(before).name, value(after).name);
    value_names_.insert(before.index, name_of_value());
    value_names_.insert(after.index, name_of_value());
  }
}

void Graph::rename(ValueId id, const std::string& name) {
  if (value(id).name == name) {
    return;
  }
  if (const auto holder = find_value(name)) {
    value_names_.erase(name, name_of_value());
    value(*holder).name = unique_name(name + "_1");
    value_names_.insert(holder->index, name_of_value());
  }
  value_names_.erase(value(id).name, name_of_value());
  value(id).name = name;
  value_names_.insert(id.index, name_of_value());
}

void Graph::rename(NodeId id, const std::string& name) {
  if (!find_node(name)) {
    std::string& own = nodes_.at(id.index).node.name;
    node_names_.erase(own, name_of_node());
    own = name;
    node_names_.insert(id.index, name_of_node());
  }
}

void Graph::drop_use(ValueId id, NodeId user) {
  auto& users = value(id).users;
  users.erase(std::find(users.begin(), users.end(), user));
}

void Graph::erase(NodeId id) {
  NodeSlot& slot = nodes_.at(id.index);
  for (const ValueId output : slot.node.outputs) {
    check(value(output).users.empty() && !is_output(output),
          "erased a node that is still read");
    value(output).alive = false;
    value_names_.erase(value(output).name, name_of_value());
  }
  for (const ValueId input : slot.node.inputs) {
    if (input) {
      drop_use(input, id);
    }
  }
  slot.alive = false;
  node_names_.erase(slot.node.name, name_of_node());
}

void Graph::erase(ValueId id) {
  Value& unread = value(id);
  check((unread.constant || unread.is_input) && unread.users.empty() && !is_output(id),
        "erased a value that is not an unread constant or input");
  std::erase(inputs_, id);
  unread.is_input = false;
  unread.alive = false;
  unread.constant.reset();
  value_names_.erase(unread.name, name_of_value());
}

void Graph::erase_unused() {
  std::vector<bool> needed(nodes_.size(), false);
  std::vector<ValueId> pending(outputs_.begin(), outputs_.end());
  while (!pending.empty()) {
    const ValueId id = pending.back();
    pending.pop_back();
    const auto made_by = id ? value(id).producer : std::nullopt;
    if (made_by && !needed[made_by->index]) {
      needed[made_by->index] = true;
      const auto& inputs = nodes_[made_by->index].node.inputs;
      pending.insert(pending.end(), inputs.begin(), inputs.end());
    }
  }
  // Readers before producers, so that every erased node has no readers left.
  std::vector<NodeId> order = topological_order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (!needed[id->index]) {
      erase(*id);
    }
  }
  erase_unused_constants();
}

void Graph::erase_unused_constants() {
  for (Value& v : values_) {
    const ValueId id{static_cast<std::uint32_t>(&v - values_.data())};
    if (v.alive && v.constant && v.users.empty() && !is_output(id)) {
      erase(id);
    }
  }
}

std::string Graph::unique_name(std::string_view wanted) const {
  std::string name(wanted);
  for (int suffix = 1; find_value(name) || find_node(name); ++suffix) {
    name = std::string(wanted) + "_" + std::to_string(suffix);
  }
  return name;
}

std::vector<NodeId> Graph::topological_order() const {
  // As in graphs that nothing was inserted into.
  const auto reads_only_earlier = [&](NodeId id) {
    const std::vector<ValueId>& inputs = nodes_[id.index].node.inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      return !input || values_[input.index].producer < id;  // so is none
    });
  };
  std::vector<NodeId> as_added = nodes();
  if (std::all_of(as_added.begin(), as_added.end(), reads_only_earlier)) {
    return as_added;
  }
  std::vector<std::size_t> missing(nodes_.size(), 0);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  std::size_t living = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].alive) {
      continue;
    }
    ++living;
    for (const ValueId input : nodes_[i].node.inputs) {
      missing[i] += input && value(input).producer ? 1 : 0;
    }
    if (missing[i] == 0) {
      ready.push(i);
    }
  }
  std::vector<NodeId> order;
  order.reserve(living);
  while (!ready.empty()) {
    const NodeId id{ready.top()};
    ready.pop();
    order.push_back(id);
    for (const ValueId output : nodes_[id.index].node.outputs) {
      for (const NodeId user : value(output).users) {
        if (--missing[user.index] == 0) {
          ready.push(user.index);
        }
      }
    }
  }
  if (order.size() != living) {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].alive && missing[i] != 0) {
        throw Error(ErrorCode::kInvalidModel, "node '" + nodes_[i].node.name + "'",
                    "the graph has a cycle through this node");
      }
    }
  }
  return order;
}

bool Graph::alive(NodeId id) const {
  return nodes_.at(id.index).alive;
}

const Node& Graph::node(NodeId id) const {
  const NodeSlot& slot = nodes_.at(id.index);
  check(slot.alive, "read a node that was erased");
  return slot.node;
}

Graph::Value& Graph::value(ValueId id) {
  return values_.at(id.index);
}

const Graph::Value& Graph::value(ValueId id) const {
  return values_.at(id.index);
}

const std::string& Graph::name(ValueId id) const {
  return value(id).name;
}

const TensorType& Graph::type(ValueId id) const {
  return value(id).type;
}

const Tensor* Graph::constant(ValueId id) const {
  if (!id) {
    return nullptr;
  }
  const auto& tensor = value(id).constant;
  return tensor ? &*tensor : nullptr;
}

bool Graph::is_input(ValueId id) const {
  return value(id).is_input;
}

bool Graph::is_output(ValueId id) const {
  return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end();
}

std::optional<NodeId> Graph::producer(ValueId id) const {
  return value(id).producer;
}

const std::vector<NodeId>& Graph::users(ValueId id) const {
  return value(id).users;
}

bool Graph::single_use(ValueId id) const {
  return value(id).users.size() == 1 && !is_output(id);
}

std::optional<ValueId> Graph::find_value(std::string_view name) const {
  const auto found = value_names_.find(name, name_of_value());
  return found ? std::optional(ValueId{*found}) : std::nullopt;
}

std::optional<NodeId> Graph::find_node(std::string_view name) const {
  const auto found = node_names_.find(name, name_of_node());
  return found ? std::optional(NodeId{*found}) : std::nullopt;
}

std::vector<NodeId> Graph::nodes() const {
  std::vector<NodeId> result;
  result.reserve(nodes_.size());
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].alive) {
      result.push_back({i});
    }
  }
  return result;
}

std::vector<ValueId> Graph::values() const {
  std::vector<ValueId> result;
  for (std::uint32_t i = 0; i < values_.size(); ++i) {
    if (values_[i].alive) {
      result.push_back({i});
    }
  }
  return result;
}

std::optional<std::vector<std::int64_t>> constant_integers(const Graph& graph, const Node& node,
                                                           std::size_t operand) {
  if (operand >= node.inputs.size()) {
    return std::nullopt;
  }
  const Tensor* tensor = graph.constant(node.inputs[operand]);
  return tensor != nullptr ? std::optional(tensor->to_int64()) : std::nullopt;
}

std::vector<std::string> model_outputs(const Graph& graph) {
  if (graph.tail) {
    return graph.tail->outputs;
  }
  std::vector<std::string> names;
  for (const ValueId output : graph.outputs()) {
    names.push_back(graph.name(output));
  }
  return names;
}

bool leaves_extents_open(const Graph& graph) {
  return std::any_of(graph.inputs().begin(), graph.inputs().end(), [&](ValueId input) {
    return graph.dimension_names.contains(graph.name(input));
  });
}

}  // namespace tare
