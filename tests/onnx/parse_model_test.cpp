#include "onnx/parse_model.h"

#include "tare/error.h"

#include "base/input_file.h"
#include "support/files/files.h"
#include "support/files/temporary_folder.h"

#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Nothing where it is no model.
std::optional<std::string> without_weights(const std::filesystem::path& path) {
  try {
    return parse_without_weights(InputFile(path)).SerializeAsString();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidModel);
    return std::nullopt;
  }
}

/// The same from the whole model.
std::optional<std::string> cleared(const std::filesystem::path& path) {
  try {
    onnx::ModelProto model = parse_model(InputFile(path));
    for (onnx::TensorProto& weight : *model.mutable_graph()->mutable_initializer()) {
      weight.clear_raw_data();
    }
    return model.SerializeAsString();
  } catch (const Error&) {
    return std::nullopt;
  }
}

class ParsingWithoutWeights : public testing::Test {
 protected:
  TemporaryFolder folder;
  std::filesystem::path file = folder / "model.onnx";
  std::string bytes = bytes_of(TARE_SOURCE_DIR "/data/digits.onnx");
};

TEST_F(ParsingWithoutWeights, LeavesEverythingElse) {
  write_bytes(file, bytes);
  const auto rest = without_weights(file);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest, cleared(file));
  EXPECT_LT(rest->size(), bytes.size() / 4);
}

TEST_F(ParsingWithoutWeights, RefusesWhatIsCutShort) {
  for (std::size_t size = 0; size < bytes.size(); size += bytes.size() / 211) {
    write_bytes(file, bytes.substr(0, size));
    EXPECT_EQ(without_weights(file), cleared(file)) << size << " bytes";
  }
}

TEST_F(ParsingWithoutWeights, IsThatOfTheWholeModelWhateverTheBytes) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
  for (int i = 0; i < 300; ++i) {
    std::string changed = bytes;
    for (int change = 0; change < 3; ++change) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    write_bytes(file, changed);
    const auto rest = without_weights(file);
    if (const auto whole = cleared(file)) {
      EXPECT_EQ(rest, whole) << "change " << i;
    }
  }
}

}  // namespace
}  // namespace tare::test
