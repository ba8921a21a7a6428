#include "io/folder.h"
#include "pipeline/digits.h"

namespace tare {
namespace {

using Plugins = InFolder;

Toolkit with_plugin() {
  Toolkit toolkit = Toolkit::builtin();
  load_plugins({TARE_TEST_PLUGIN}, toolkit);
  return toolkit;
}

TEST_F(Plugins, ChooseRangesLikeBuiltInCalibrators) {
  const Digits digits;
  Config config;
  config.activations.calibrator.name = "half_of_max";
  config.schedule = Schedule::kIndependent;  // the other one widens ranges by a hair
  const QuantTable table =
      quantize(digits.model, *digits.data, config, with_plugin(), {.samples = 5}).table;
  const PointResult& input = table.at(digits.model.name(digits.model.inputs()[0]));
  EXPECT_EQ(input.calibrator, "half_of_max");
  EXPECT_EQ(input.chosen[0].high, input.seen[0].high / 2);
}

TEST_F(Plugins, CannotTakeANameThatExists) {
  Toolkit toolkit = with_plugin();
  EXPECT_NE(
      message_of([&] { load_plugins({TARE_TEST_PLUGIN}, toolkit); }, ErrorCode::kInvalidConfig)
          .find("calibrator 'half_of_max' exists already"),
      std::string::npos);
}

TEST_F(Plugins, ThatCannotBeLoadedSayWhy) {
  Toolkit toolkit = Toolkit::builtin();
  EXPECT_EQ(message_of([&] { load_plugins({path("no.so")}, toolkit); }, ErrorCode::kIo),
            "no.so: no such file");
  write_bytes(path("text.so"), "no library");
  EXPECT_EQ(message_of([&] { load_plugins({path("text.so")}, toolkit); }, ErrorCode::kIo)
                .substr(0, 37),
            "plug-in 'text.so': cannot be loaded: ");
}

TEST_F(Plugins, OfAConfigurationAreRelativeToItsFile) {
  write_bytes(path("c.yaml"),
              "plugins: [mine.so, /absolute/other.so]\nactivations: [faulty]\n");
  EXPECT_EQ(read_plugins(path("c.yaml"), {}),
            (std::vector<std::filesystem::path>{path("mine.so"), "/absolute/other.so"}));
  EXPECT_EQ(read_plugins(path("c.yaml"), {"plugins=[a.so]"}),
            (std::vector<std::filesystem::path>{"a.so"}));
  EXPECT_TRUE(read_plugins({}, {"activations.calibrator=max"}).empty());
}

}  // namespace
}  // namespace tare
