// Cuts a data set into chunks that are read at once: 1 MiB at most unless one run is larger, so
// that each thread holds little, and 32 chunks at least where there are as many runs, so that
// threads have equal shares.
#include "execute/run/feed.h"

#include "tare/error.h"
#include "tare/graph.h"

#include "graph/operators/float_types.h"

#include <algorithm>

namespace tare {
namespace {

const DatasetInput* find(const Dataset& data, const std::string& name) {
  const auto& inputs = data.inputs();
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const DatasetInput& input) {
    return input.name == name;
  });
  return found == inputs.end() ? nullptr : &*found;
}

std::string names_of(const Dataset& data) {
  std::string result;
  for (const DatasetInput& input : data.inputs()) {
    result += (result.empty() ? "'" : ", '") + input.name + "'";
  }
  return result;
}

/// Extents of a sample that fits.
Shape sample_shape(const TensorType& type, bool is_whole) {
  return {type.shape.begin() + (is_whole ? 0 : 1), type.shape.end()};
}

/// Integers may become wider integers or floats, and floats wider ones; nothing may lose its
/// fraction. The inputs of a network in float64 are float32 here.
bool converts(const Graph& graph, ValueId input, DType from) {
  const DType to = graph.type(input).dtype;
  if (from == DType::kFloat64 && to == DType::kFloat32) {
    const auto in_file = graph.file_types.find(graph.name(input));
    return in_file != graph.file_types.end() && in_file->second == DType::kFloat64;
  }
  return from == to || (is_float(to) && from != DType::kBool) ||
         (is_integer(from) && to == DType::kInt64);
}

Tensor converted(const Tensor& tensor, DType to) {
  if (tensor.dtype() == to) {
    return tensor;
  }
  return is_float(to) ? in_float_type(tensor, to)
                      : Tensor::of<std::int64_t>(tensor.shape(), tensor.to_int64());
}

/// The names of the extents of a sample that the model leaves open, so that the graph can be
/// made for others.
std::vector<std::string> open_extents(const Graph& graph, ValueId input, std::size_t rank) {
  const auto names = graph.dimension_names.find(graph.name(input));
  if (!graph.reshape || names == graph.dimension_names.end() || names->second.size() < rank) {
    return std::vector<std::string>(rank);
  }
  return {names->second.end() - static_cast<std::ptrdiff_t>(rank), names->second.end()};
}

/// Whether a sample has other extents only where they are open.
bool fits_open(const Shape& sample, const Shape& wanted, const std::vector<std::string>& open) {
  bool fits = sample.size() == wanted.size() && sample.size() == open.size();
  for (std::size_t axis = 0; fits && axis < sample.size(); ++axis) {
    fits = sample[axis] == wanted[axis] || !open[axis].empty();
  }
  return fits;
}

/// [length,32]
std::string open_text(const Shape& shape, const std::vector<std::string>& open) {
  std::string text;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    text += (text.empty() ? "" : ",") +
            (open[axis].empty() ? std::to_string(shape[axis]) : printable(open[axis]));
  }
  return "[" + text + "]";
}

void check_input(const Graph& graph, ValueId input, const Dataset& data, Faults& faults) {
  const std::string& name = graph.name(input);
  const TensorType& type = graph.type(input);
  const std::string where = "input '" + name + "'";
  const DatasetInput* given = find(data, name);
  if (given == nullptr) {
    faults.add(where, "no dataset of that name (found: " + names_of(data) + ")");
    return;
  }
  const Shape wanted =
      sample_shape(type, type.shape.empty() || is_whole_input(given->shape, type.shape));
  if (given->shape != wanted &&
      !fits_open(given->shape, wanted, open_extents(graph, input, wanted.size()))) {
    faults.add(where, "samples have shape " + to_string(given->shape), to_string(wanted));
  }
  if (!converts(graph, input, given->dtype)) {
    faults.add(where, "samples have type " + std::string(name_of(given->dtype)),
               std::string(name_of(type.dtype)));
  }
}

}  // namespace

bool is_whole_input(const Shape& sample, const Shape& input) {
  return sample.size() == input.size();
}

Feed::Feed(const Graph& graph, const Dataset& data, std::size_t samples, std::size_t first)
    : data_(data), first_sample_(first) {
  Faults faults;
  for (const ValueId id : graph.inputs()) {
    const TensorType& type = graph.type(id);
    check_input(graph, id, data, faults);
    const DatasetInput* given = find(data, graph.name(id));
    const bool is_whole =
        type.shape.empty() || (given != nullptr && is_whole_input(given->shape, type.shape));
    const auto batch = static_cast<std::size_t>(is_whole ? 1 : type.shape[0]);
    if (!inputs_.empty() && batch != batch_) {
      faults.add("input '" + graph.name(id) + "'",
                 "takes " + std::to_string(batch) + " samples",
                 std::to_string(batch_) + " like the inputs before it");
    }
    batch_ = batch;
    const std::size_t rank = sample_shape(type, is_whole).size();
    inputs_.push_back({graph.name(id), type, is_whole, open_extents(graph, id, rank)});
  }
  faults.raise(ErrorCode::kInvalidData);
  if (data.has_several_shapes() && batch_ != 1) {
    throw Error(ErrorCode::kInvalidData, "",
                "samples have several shapes, and the model takes " + std::to_string(batch_) +
                    " at a time")
        .expected("a batch of 1");
  }
  const std::size_t available = samples == 0 ? data.size() : std::min(samples, data.size());
  if (batch_ == 0 || available < batch_) {
    throw Error(ErrorCode::kInvalidData, "",
                "the data holds " + std::to_string(available) + " samples")
        .expected("at least " + std::to_string(std::max<std::size_t>(batch_, 1)));
  }
  runs_ = first < available ? (available - first) / batch_ : 0;
  // Long enough to read in one go, short enough to share among threads and to be held by each.
  std::size_t run_bytes = 1;
  for (const Input& input : inputs_) {
    run_bytes +=
        static_cast<std::size_t>(element_count(input.type.shape)) * size_of(input.type.dtype);
  }
  constexpr std::size_t kChunkBytes = 1 << 20;  // held by each thread, so memory stays bounded
  runs_per_chunk_ =
      std::clamp<std::size_t>(runs_ / 32, 1, std::max<std::size_t>(kChunkBytes / run_bytes, 1));
  if (data.has_several_shapes()) {
    runs_per_chunk_ = 1;  // they are read one by one
  }
}

Feed Feed::only(std::span<const std::string> inputs) const {
  Feed result = *this;
  result.inputs_.clear();
  for (const std::string& name : inputs) {
    result.inputs_.push_back(
        *std::find_if(inputs_.begin(), inputs_.end(),
                      [&](const Input& input) { return input.name == name; }));
  }
  return result;
}

std::size_t Feed::runs_in(std::size_t chunk) const {
  return std::min(runs_per_chunk_, runs_ - first_run(chunk));
}

std::size_t Feed::samples_in(std::size_t chunk) const {
  return runs_in(chunk) * batch_;
}

std::vector<Tensor> Feed::read(std::size_t run) const {
  return inputs_of(read_rows(run, 1), 0);
}

std::vector<Tensor> Feed::inputs_of(std::span<const Tensor> rows, std::size_t run) const {
  std::vector<Tensor> inputs(inputs_.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = rows[i].rows(static_cast<std::int64_t>(run * batch_),
                             static_cast<std::int64_t>(batch_));
    if (inputs_[i].is_whole) {
      const Shape& shape = inputs[i].shape();
      inputs[i] = inputs[i].reshaped(
          inputs_[i].type.shape.empty() ? Shape{} : Shape(shape.begin() + 1, shape.end()));
    }
  }
  return inputs;
}

void Feed::require_shape(const Input& input, const Tensor& sample, std::size_t index) const {
  const Shape wanted = sample_shape(input.type, input.is_whole);
  const Shape found(sample.shape().begin() + 1, sample.shape().end());
  if (!fits_open(found, wanted, input.open)) {
    throw Error(ErrorCode::kInvalidData, "input '" + input.name + "'",
                "sample " + std::to_string(index) + " has shape " + to_string(found))
        .expected(open_text(wanted, input.open) + ", as the model takes");
  }
}

std::vector<Tensor> Feed::read_rows(std::size_t first_run, std::size_t runs) const {
  const std::size_t first = first_sample_ + first_run * batch_;
  std::vector<Tensor> result;
  for (const Input& input : inputs_) {
    const Tensor rows = data_.read(input.name, first, runs * batch_);
    if (data_.has_several_shapes()) {
      require_shape(input, rows, first);
    }
    result.push_back(converted(rows, input.type.dtype));
  }
  return result;
}

void Feed::for_each_run(
    std::size_t chunk,
    const std::function<void(std::size_t run, std::span<const Tensor> inputs)>& body) const {
  const std::vector<Tensor> rows = read_rows(first_run(chunk), runs_in(chunk));
  for (std::size_t run = 0; run < runs_in(chunk); ++run) {
    body(first_run(chunk) + run, inputs_of(rows, run));
  }
}

}  // namespace tare
