// The page as text; what it does in a browser is in page_test.mjs.
#include "report/html.h"

#include "tare/error.h"

#include "support/text.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tare::test {
namespace {

const std::string kDataBegin = "<script type=\"application/json\" id=\"report-data\">";
const std::string kDataEnd = "</script>";

std::string report_with(const std::string& name) {
  return nlohmann::json{{"layers", {{{"name", name}}}}}.dump();
}

/// What the page's script gets to parse: an HTML parser ends the element where it first can.
std::string data_of(const std::string& page) {
  const std::size_t begin = page.find(kDataBegin) + kDataBegin.size();
  return page.substr(begin, page.find(kDataEnd, begin) - begin);
}

TEST(ReportPage, HoldsTheReportWhateverItsNamesAre) {
  for (const std::string name : {"conv1", "</script><script>alert(1)</script>", "<!--<script>",
                                 "a & b &lt; \"c\" 'd' \\", "line\u2028paragraph\u2029end",
                                 "{}</script>", "<script src=\"dom.js\"></script>", "数 é"}) {
    const std::string json = report_with(name);
    const std::string data = data_of(html_report(json));
    EXPECT_EQ(nlohmann::json::parse(data), nlohmann::json::parse(report_with(printable(name))))
        << name;
    EXPECT_EQ(data.find_first_of("<>&"), std::string::npos) << name;
    EXPECT_EQ(data.find("\u2028"), std::string::npos) << name;
  }
}

TEST(ReportPage, HasNoElementsFromTheReport) {
  const std::string plain = html_report(report_with("conv"));
  const std::string sly = html_report(report_with("<script>1</script><img src=x onerror=1>"));
  EXPECT_EQ(count_of(sly, "<script"), count_of(plain, "<script"));
  EXPECT_EQ(count_of(sly, "</script"), count_of(plain, "</script"));
  EXPECT_EQ(count_of(sly, "<img"), 0U);
}

TEST(ReportPage, NamesNoOtherFile) {
  const std::string page = html_report(report_with("conv"));
  EXPECT_EQ(count_of(page, " src="), 0U);
  EXPECT_EQ(count_of(page, "rel=\"stylesheet\""), 0U);
  EXPECT_EQ(count_of(page, "@import"), 0U);
}

TEST(ReportPage, IsTheSameForTheSameReport) {
  EXPECT_EQ(html_report(report_with("conv")), html_report(report_with("conv")));
}

}  // namespace
}  // namespace tare::test
