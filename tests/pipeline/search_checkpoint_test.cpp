#include "pipeline/store/search_checkpoint.h"

#include "base/hash.h"
#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"

#include <limits>
#include <random>

namespace tare::test {
namespace {

const std::string kReport =
    R"({"format": "tare-report", "version": 1, "outputs": [], "layers": [], "points": []})";

SearchCheckpoint some() {
  SearchCheckpoint result;
  result.identity = {.model = 7, .data = ~std::uint64_t{0}, .configuration = 0};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  result.sensitivities = {{"a b", 0.1}, {"", 1.0 / 3}, {"\xFF\n\0", kInfinity}};
  result.plans.push_back(
      {.plan = {
           .float_nodes = {}, .nanoseconds = 1e6 / 3, .error = 5e-324, .integer_share = 1}});
  result.plans.push_back({.plan = {.float_nodes = {"conv 1", "9 \xC3", "zwölf"},
                                   .nanoseconds = -0.0,
                                   .error = 0,
                                   .integer_share = 0},
                          .report = kReport});
  result.written = 1;
  result.files = {{"out.onnx", 0xABCDEF}, {"folder/report.html", 0}};
  return result;
}

class SearchCheckpoints : public InFolder {
 protected:
  SearchCheckpoint read() const { return read_search_checkpoint(file(), some().identity); }
  std::string fault() const {
    return message_of([&] { (void)read(); }, ErrorCode::kInvalidData);
  }
  std::string written() const {
    write_search_checkpoint(file(), some());
    return bytes_of(file());
  }
  std::filesystem::path file() const { return path("s.checkpoint"); }

  const std::string damaged_ =
      "s.checkpoint: is not a search checkpoint, or is damaged\n  hint: remove it to start the "
      "search anew";
};

TEST_F(SearchCheckpoints, AreReadAsTheyWereWritten) {
  (void)written();
  EXPECT_EQ(read(), some());
  write_search_checkpoint(file(), {.identity = some().identity});
  EXPECT_EQ(read(), SearchCheckpoint{.identity = some().identity});
  EXPECT_EQ(file_count(), 1U) << "temporary files are left";
}

TEST_F(SearchCheckpoints, ThatEndEarlyAreErrors) {
  const std::string whole = written();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_bytes(file(), whole.substr(0, size));
    ASSERT_EQ(fault(), damaged_) << size;
  }
  write_bytes(file(), whole + " ");
  EXPECT_EQ(fault(), damaged_);
}

TEST_F(SearchCheckpoints, WithAnyBitFlippedAreErrors) {
  const std::string whole = written();
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    write_bytes(file(), changed);
    ASSERT_EQ(fault(), damaged_) << bit;
  }
}

/// The digest does not stand in the way of what it is not meant against.
TEST_F(SearchCheckpoints, OfAnyBytesBehindARightDigestAreValuesOrErrors) {
  const std::string whole = written();
  const std::string body = whole.substr(whole.find('\n') + 1);
  std::mt19937 random(3);
  int values = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string changed = body;
    for (int changes = 0; changes < 1 + round % 3; ++changes) {
      constexpr std::string_view kLetters = " 0123456789abcdefF-";
      changed[random() % changed.size()] = kLetters[random() % kLetters.size()];
    }
    write_bytes(file(), "tare search 2 " + hexadecimal(hash(changed)) + "\n" + changed);
    try {
      const SearchCheckpoint found = read();
      for (const auto& searched : found.plans) {
        EXPECT_LE(searched.report.size(), changed.size());
      }
      EXPECT_TRUE(!found.written || *found.written < found.plans.size());
      ++values;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidData) << error.what();
    }
  }
  EXPECT_GT(values, 0) << "no change was within a text or a number";
}

TEST_F(SearchCheckpoints, WithReportsThatAreNoneAreErrors) {
  for (
      const char* report :
      {"x", "{", "[]", "7", "null", "{}", R"({"format": "tare-report", "version": 1})",
       R"({"format": "tare-report", "version": 1, "outputs": 3, "layers": [], "points": []})"}) {
    SearchCheckpoint odd = some();
    odd.plans[1].report = report;
    write_search_checkpoint(file(), odd);
    EXPECT_EQ(fault(), damaged_) << report;
  }
}

TEST_F(SearchCheckpoints, OfAnotherSearchSayWhatDiffers) {
  (void)written();
  const auto fault_with = [&](SearchIdentity expected) {
    return message_of([&] { (void)read_search_checkpoint(file(), expected); },
                      ErrorCode::kInvalidData);
  };
  const std::string hint =
      "\n  hint: the interrupted command resumes from it; remove it to start anew";
  SearchIdentity other = some().identity;
  other.model ^= 1U;
  EXPECT_EQ(fault_with(other), "s.checkpoint: is of a search with another model" + hint);
  other.configuration ^= 1U;
  EXPECT_EQ(fault_with(other),
            "s.checkpoint: is of a search with another model and another configuration" + hint);
  other = some().identity;
  other.data ^= 1U;
  EXPECT_EQ(fault_with(other), "s.checkpoint: is of a search with other samples" + hint);
}

class SearchIdentities : public InFolder {
 protected:
  SearchIdentity identity(const Dataset& data, const Config& config = {}) const {
    return search_identity(digits_.model, data, config, {});
  }

  const Digits digits_;
};

TEST_F(SearchIdentities, AreOfTheModelTheSamplesAndTheConfiguration) {
  const SearchIdentity plain = identity(*digits_.data);
  EXPECT_EQ(identity(*digits_.data), plain);

  Graph model = digits_.model;
  (void)model.add_constant("more", Tensor::of<float>({1}, {1}));
  const SearchIdentity of_model = search_identity(model, *digits_.data, {}, {});
  EXPECT_NE(of_model.model, plain.model);
  EXPECT_EQ(of_model.data, plain.data);
  EXPECT_EQ(of_model.configuration, plain.configuration);

  Config config;
  config.samples = 40;
  EXPECT_NE(identity(*digits_.data, config).data, plain.data);
  EXPECT_EQ(identity(*digits_.data, config).configuration, plain.configuration);
  config = {.effort = Effort::kBest};
  EXPECT_EQ(identity(*digits_.data, config).data, plain.data);
  EXPECT_NE(identity(*digits_.data, config).configuration, plain.configuration);
}

TEST_F(SearchIdentities, TellSamplesInAnotherOrderApart) {
  const auto image = [&](std::size_t index) {
    const Tensor one = digits_.data->read("image", index, 1);
    const auto values = one.view<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  std::vector<float> values = image(0);
  const std::vector<float> other = image(1);
  values.insert(values.end(), other.begin(), other.end());
  const SamplesInMemory data({{"image", Tensor::of<float>({2, 1, 16, 16}, values)}});
  std::rotate(values.begin(), values.begin() + 256, values.end());
  const SamplesInMemory turned({{"image", Tensor::of<float>({2, 1, 16, 16}, values)}});
  EXPECT_NE(identity(data), identity(turned));
}

TEST_F(SearchIdentities, DoNotDependOnMemory) {
  EXPECT_EQ(identity(*digits_.data, {.memory = 1U << 20U}), identity(*digits_.data));
}

TEST_F(SearchIdentities, DependOnTheBytesOfPlugins) {
  const std::vector<std::filesystem::path> plugins{path("mine.so")};
  const auto with_plugin = [&](const std::string& bytes) {
    write_bytes(plugins[0], bytes);
    return search_identity(digits_.model, *digits_.data, {}, plugins);
  };
  EXPECT_NE(with_plugin("one"), identity(*digits_.data));
  EXPECT_NE(with_plugin("one"), with_plugin("two"));
  EXPECT_EQ(with_plugin("one"), with_plugin("one"));
}

}  // namespace
}  // namespace tare::test
