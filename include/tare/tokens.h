#pragma once

#include "tare/arithmetic.h"
#include "tare/node.h"
#include "tare/tensor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

// What language models are measured by: how well they expect the token that comes next.

/// Where a language model takes its tokens, and gives a row of scores for the one behind each.
struct TokenInterface {
  std::size_t ids = 0;              ///< the input: integers, [batch, length]
  std::optional<std::size_t> mask;  ///< the input: 0 where a token does not count
  std::size_t logits = 0;           ///< the output: f32, [batch, length, vocabulary]
};
/// The ids are the input called `input_ids`, else the first one that rows of a constant table
/// are looked up with; the mask is `attention_mask`; scores are the output called `logits`,
/// else the first one of their shape. Nothing where ids or scores are missing.
std::optional<TokenInterface> token_interface(const Graph&);
/// Row `row` of an input of tokens, and of the mask, whose last columns count, if there is one.
std::vector<std::int64_t> tokens_of(const Tensor& ids, const Tensor* mask, std::size_t row);

/// Cross-entropy of the token that comes next: -log of its share in the softmax of the scores,
/// in nats. The sum is exact.
class NextTokenLoss {
 public:
  /// `scores` have a row for each of the tokens, f32. Row i is about token i + 1, unless either
  /// is masked (-1), and the last row about `label`, if there is one. Ids outside of the
  /// vocabulary, and scores that are not finite, leave the loss undefined.
  void observe(const Tensor& scores, std::span<const std::int64_t> tokens,
               std::optional<std::int64_t> label);
  void merge(const NextTokenLoss&);
  /// What it saw, for another process, always as many bytes; and what another one told.
  std::string told() const;
  void merge_told(std::string_view);

  std::uint64_t tokens() const { return tokens_; }  ///< how many were predicted
  std::optional<double> mean() const;               ///< nothing where it is not defined
  std::optional<double> perplexity() const;         ///< e to the mean

 private:
  ExactSum sum_;
  std::uint64_t tokens_ = 0;
  bool is_defined_ = true;
};

}  // namespace tare
