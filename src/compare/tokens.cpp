// What language models are measured by. A sample is a row of tokens, and each row of scores is
// about the token behind it, so a sample of n tokens has n - 1 that can be compared, and one
// more where its label is the one that comes next. One pass over the scores.
#include "tare/dataset.h"
#include "tare/graph.h"

#include "base/bytes.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

bool is_integral(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kInt32;
}

/// The constant table of which the value chooses rows; null where there is none.
const Tensor* embeddings_of(const Graph& graph, ValueId value) {
  for (const NodeId id : graph.users(value)) {
    const Node& node = graph.node(id);
    const Tensor* table = node.op == "Gather" ? graph.constant(node.inputs[0]) : nullptr;
    if (table != nullptr && node.inputs[1] == value && table->shape().size() == 2 &&
        table->dtype() == DType::kFloat32 && node.attributes.integer("axis", 0) == 0) {
      return table;
    }
  }
  return nullptr;
}

std::optional<std::size_t> find_ids(const Graph& graph) {
  std::optional<std::size_t> found;
  const auto& inputs = graph.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph.type(inputs[i]);
    if (!is_integral(type.dtype) || type.shape.size() != 2) {
      continue;
    }
    if (graph.name(inputs[i]) == "input_ids") {
      return i;
    }
    if (!found && embeddings_of(graph, inputs[i]) != nullptr) {
      found = i;
    }
  }
  return found;
}

std::optional<std::size_t> find_logits(const Graph& graph, ValueId tokens) {
  const Shape& ids = graph.type(tokens).shape;
  // Hidden states have their shape too, but are narrow. Tables are padded, though, and scores
  // need not be.
  const Tensor* const table = embeddings_of(graph, tokens);
  const std::int64_t least =
      table == nullptr ? 2 : std::max<std::int64_t>(table->shape()[0] / 2, 2);
  std::optional<std::size_t> found;
  const auto& outputs = graph.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorType& type = graph.type(outputs[i]);
    if (type.dtype != DType::kFloat32 || type.shape.size() != 3 ||
        !std::equal(ids.begin(), ids.end(), type.shape.begin()) || type.shape[2] < least) {
      continue;
    }
    if (graph.name(outputs[i]) == "logits") {
      return i;
    }
    found = found.value_or(i);
  }
  return found;
}

double loss_of(std::span<const float> row, std::int64_t token) {
  const auto largest = static_cast<double>(*std::max_element(row.begin(), row.end()));
  double sum = 0;
  for (const float score : row) {
    sum += std::exp(static_cast<double>(score) - largest);
  }
  return largest + std::log(sum) - static_cast<double>(row[static_cast<std::size_t>(token)]);
}

}  // namespace

std::optional<TokenInterface> token_interface(const Graph& graph) {
  const auto ids = find_ids(graph);
  const auto logits = ids ? find_logits(graph, graph.inputs()[*ids]) : std::nullopt;
  if (!logits) {
    return std::nullopt;
  }
  TokenInterface result{.ids = *ids, .mask = {}, .logits = *logits};
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    if (graph.name(graph.inputs()[i]) == "attention_mask" && is_integral(type.dtype) &&
        type.shape.size() == 2) {
      result.mask = i;
    }
  }
  return result;
}

std::vector<std::int64_t> tokens_of(const Tensor& ids, const Tensor* mask, std::size_t row) {
  const auto row_of = [row](const Tensor& tensor) {
    const std::vector<std::int64_t> all = tensor.to_int64();
    const auto width = static_cast<std::ptrdiff_t>(tensor.shape().back());
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row) * width;
    return std::vector<std::int64_t>(begin, begin + width);
  };
  std::vector<std::int64_t> tokens = row_of(ids);
  if (mask != nullptr) {
    const std::vector<std::int64_t> keeps = row_of(*mask);
    // Of a cache, the mask is about the tokens in it as well.
    const std::size_t before = keeps.size() - std::min(keeps.size(), tokens.size());
    for (std::size_t i = 0; i < std::min(keeps.size(), tokens.size()); ++i) {
      tokens[i] = keeps[before + i] != 0 ? tokens[i] : -1;
    }
  }
  return tokens;
}

void NextTokenLoss::observe(const Tensor& scores, std::span<const std::int64_t> tokens,
                            std::optional<std::int64_t> label) {
  const auto values = scores.view<float>();
  const std::size_t width = tokens.empty() ? 0 : values.size() / tokens.size();
  for (std::size_t i = 0; i < tokens.size() && width > 0; ++i) {
    const bool is_last = i + 1 == tokens.size();
    if (tokens[i] < 0 || (is_last ? !label : tokens[i + 1] < 0)) {
      continue;
    }
    const std::int64_t next = is_last ? *label : tokens[i + 1];
    const double loss = next >= 0 && next < static_cast<std::int64_t>(width)
                            ? loss_of(values.subspan(i * width, width), next)
                            : std::nan("");
    if (std::isfinite(loss)) {
      sum_.add(loss);
    } else {
      is_defined_ = false;
    }
    ++tokens_;
  }
}

void NextTokenLoss::merge(const NextTokenLoss& other) {
  sum_.add(other.sum_);
  tokens_ += other.tokens_;
  is_defined_ = is_defined_ && other.is_defined_;
}

std::string NextTokenLoss::told() const {
  ByteWriter writer;
  writer.add(sum_.words());
  writer.add(tokens_);
  writer.add(std::uint64_t{is_defined_});
  return writer.take();
}

void NextTokenLoss::merge_told(std::string_view bytes) {
  ByteReader reader(bytes);
  sum_.add(ExactSum::of(reader.get<ExactSum::Words>()));
  tokens_ += reader.get<std::uint64_t>();
  is_defined_ = (reader.get<std::uint64_t>() != 0) && is_defined_;
}

std::optional<double> NextTokenLoss::mean() const {
  return is_defined_ && tokens_ > 0 ? std::optional(sum_.value() / static_cast<double>(tokens_))
                                    : std::nullopt;
}

std::optional<double> NextTokenLoss::perplexity() const {
  const auto nats = mean();
  return nats ? std::optional(std::exp(*nats)) : std::nullopt;
}

}  // namespace tare
