// TfIdfVectorizer of ONNX for integers: how often each n-gram of a list occurs in a row.
// N-grams that may skip items are looked up with each number of skipped items; windows times
// lengths lookups.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace tare {
namespace {

struct Vocabulary {
  std::map<std::vector<std::int64_t>, std::int64_t>
      places;                  ///< n-gram -> element of the result
  std::vector<float> factors;  ///< of each element
  std::int64_t shortest = 1;
  std::int64_t longest = 1;
  std::int64_t most_skipped = 0;
  bool counts = true;  ///< else whether there is any
};

Error odd_vocabulary(const std::string& what) {
  return {ErrorCode::kInvalidModel, "", what};
}

void read_ngrams(const Attributes& attributes, std::size_t results, Vocabulary& vocabulary) {
  const auto pool = attributes.integers("pool_int64s", {});
  const auto begins = attributes.integers("ngram_counts");
  const auto places = attributes.integers("ngram_indexes");
  const auto weights = attributes.reals("weights", {});
  std::vector<float> factors(results, 1);
  std::size_t ngram = 0;
  for (std::size_t n = 1; n <= begins.size(); ++n) {
    const std::int64_t begin = begins[n - 1];
    const std::int64_t end =
        n < begins.size() ? begins[n] : static_cast<std::int64_t>(pool.size());
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(pool.size()) ||
        (end - begin) % static_cast<std::int64_t>(n) != 0) {
      throw odd_vocabulary("'ngram_counts' does not divide the pool into n-grams");
    }
    for (auto at = pool.begin() + begin; at != pool.begin() + end;
         at += static_cast<std::ptrdiff_t>(n), ++ngram) {
      if (ngram >= places.size() || places[ngram] < 0 ||
          places[ngram] >= static_cast<std::int64_t>(results)) {
        throw odd_vocabulary("'ngram_indexes' does not have a place for each n-gram");
      }
      vocabulary.places[{at, at + static_cast<std::ptrdiff_t>(n)}] = places[ngram];
      if (!weights.empty()) {
        factors[static_cast<std::size_t>(places[ngram])] =
            ngram < weights.size() ? weights[ngram] : 1;
      }
    }
  }
  vocabulary.factors = std::move(factors);
}

Vocabulary read_vocabulary(const Attributes& attributes, std::size_t results) {
  Vocabulary vocabulary;
  vocabulary.shortest = attributes.integer("min_gram_length");
  vocabulary.longest = attributes.integer("max_gram_length");
  vocabulary.most_skipped = attributes.integer("max_skip_count");
  if (vocabulary.shortest < 1 || vocabulary.longest < vocabulary.shortest ||
      vocabulary.most_skipped < 0) {
    throw odd_vocabulary("n-grams are from " + std::to_string(vocabulary.shortest) + " to " +
                         std::to_string(vocabulary.longest) + " long and skip up to " +
                         std::to_string(vocabulary.most_skipped));
  }
  read_ngrams(attributes, results, vocabulary);
  const std::string mode = attributes.text("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    throw odd_vocabulary("attribute 'mode' is '" + mode + "'").expected("TF, IDF or TFIDF");
  }
  vocabulary.counts = mode != "IDF";
  if (mode == "TF") {
    vocabulary.factors.assign(results, 1);
  }
  return vocabulary;
}

template <class T>
void vectorize(const Vocabulary& vocabulary, const T* row, std::int64_t length, float* to) {
  std::fill_n(to, vocabulary.factors.size(), 0.0F);
  const std::int64_t reach = std::max<std::int64_t>(length, 1);  // further ones are outside
  for (std::int64_t n = vocabulary.shortest; n <= std::min(vocabulary.longest, length); ++n) {
    // An n-gram of one item skips nothing.
    const std::int64_t most = n == 1 ? 0 : std::min(vocabulary.most_skipped, reach);
    for (std::int64_t skipped = 0; skipped <= most; ++skipped) {
      const std::int64_t step = skipped + 1;
      for (std::int64_t begin = 0; begin + (n - 1) * step < length; ++begin) {
        std::vector<std::int64_t> ngram;
        for (std::int64_t i = 0; i < n; ++i) {
          ngram.push_back(static_cast<std::int64_t>(row[begin + i * step]));
        }
        if (const auto found = vocabulary.places.find(ngram);
            found != vocabulary.places.end()) {
          to[found->second] += 1;
        }
      }
    }
  }
  for (std::size_t i = 0; i < vocabulary.factors.size(); ++i) {
    const float times = vocabulary.counts ? to[i] : std::min(to[i], 1.0F);
    to[i] = times * vocabulary.factors[i];
  }
}

std::unique_ptr<Kernel> make_tf_idf(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  const std::size_t rank = x.shape().size();
  if (y.dtype() != DType::kFloat32 || y.shape().empty() || rank < 1 || rank > 2) {
    return nullptr;
  }
  const auto results = static_cast<std::size_t>(y.shape().back());
  Shape shape(x.shape().begin(), x.shape().end() - 1);
  shape.push_back(y.shape().back());
  expect_shape(y, shape);
  const std::int64_t rows = rank == 2 ? x.shape()[0] : 1;
  const std::int64_t length = x.shape().back();
  return dispatch(Indices{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=, vocabulary = read_vocabulary(request.attributes(), results)](
                           const Buffers& buffers) {
      for (std::int64_t row = 0; row < rows; ++row) {
        vectorize(vocabulary, input<T>(buffers, 0) + row * length, length,
                  output<float>(buffers, 0) + row * static_cast<std::int64_t>(results));
      }
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(tf_idf) {
  return {.ops = {"TfIdfVectorizer"}, .make = tare::make_tf_idf};
}
