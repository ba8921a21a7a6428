#include "tare/dataset.h"

#include "io/golden_arrays.h"
#include "support/files/folder.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) {
    ++count;
  }
  return count;
}

std::string sheet_of_photo(const std::string& preset, SheetText text = {}) {
  const ModelInput input{.name = "x", .shape = Shape{1, 3, 28, 28}};
  InputPreparation said;
  said.preset = preset;
  const auto data =
      open_samples(golden("photo.png"), {.inputs = {input}, .preparations = {{"x", said}}});
  text.inputs = {input};
  return contact_sheet(*data, text);
}

TEST(ContactSheet, ShowsPicturesAndAHistogramOfEachChannelBesideWhatIsUsual) {
  const std::string sheet = sheet_of_photo("imagenet");
  EXPECT_EQ(count_of(sheet, "<img "), 1U);
  EXPECT_EQ(count_of(sheet, "<figcaption>channel "), 3U);
  // (0 - 0.485) / 0.229 and (1 - 0.485) / 0.229
  EXPECT_NE(sheet.find("usual (imagenet): -2.118 to 2.249"), std::string::npos);
}

TEST(ContactSheet, ShowsValuesBeyondWhatIsUsual) {
  const std::string sheet = sheet_of_photo("bytes");
  const std::size_t caption = sheet.find("channel 0: ");
  const std::size_t to = sheet.find(" to ", caption);
  ASSERT_NE(to, std::string::npos);
  EXPECT_GT(std::stod(sheet.substr(to + 4)), 200);
  EXPECT_NE(sheet.find("usual (imagenet): -2.118 to 2.249"), std::string::npos);
}

TEST(ContactSheet, NeedsNoOtherFileAndRunsNoScript) {
  const std::string sheet = sheet_of_photo("imagenet");
  EXPECT_EQ(sheet.find("http"), std::string::npos);
  EXPECT_EQ(sheet.find("<script"), std::string::npos);
}

TEST(ContactSheet, ShowsNamesAsTheyAreAndNotAsHtml) {
  SheetText text;
  text.title = "<b>";
  text.warnings = {"a & b"};
  const std::string sheet = sheet_of_photo("imagenet", text);
  EXPECT_EQ(sheet.find("<b>"), std::string::npos);
  EXPECT_NE(sheet.find("&lt;b&gt;"), std::string::npos);
  EXPECT_NE(sheet.find("<li>a &amp; b</li>"), std::string::npos);
}

TEST(ContactSheet, DrawsWhatIsNoPictureAsACurve) {
  const auto data =
      open_samples(golden("float64.npy"), {.inputs = {{.name = "x", .shape = Shape{1, 3}}}});
  const std::string sheet = contact_sheet(*data, {});
  EXPECT_EQ(count_of(sheet, "<img "), 0U);
  EXPECT_EQ(count_of(sheet, "<svg width=\"200\""), 2U);
}

}  // namespace
}  // namespace tare::test
