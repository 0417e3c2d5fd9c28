#include "compiler/report/report_page.h"

#include <gmock/gmock.h>

#include "compiler/report/report_json.h"
#include "tests/fakes/sample_report.h"

namespace hone {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

constexpr const char* kHostile = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> \" ' & \\u003c";

TEST(ReportPage, NamesOfTheModelBeginNoElement) {
  const std::string plain = report_page(report_json(sample_report()));
  ModelReport r = sample_report();
  r.model = r.variants[0].layers[0].nodes = r.variants[0].layers[0].workload = kHostile;
  r.variants[0].buffers[0].name = r.variants[0].inputs[0].name = r.variants[0].name = kHostile;
  const std::string page = report_page(report_json(r));
  EXPECT_EQ(count(page, "<"), count(plain, "<"));
  const ModelReport read = parse_report(page, "r.html");
  EXPECT_EQ(read.model, kHostile);
  EXPECT_EQ(read.variants[0].buffers[0].name, kHostile);
}

TEST(ReportPage, MarksOfThePageAreNothingInADataText) {
  ModelReport r = sample_report();
  r.model = "<!-- scripts --><!-- style --><!-- data -->";
  EXPECT_EQ(parse_report(report_page(report_json(r)), "r.html").model, r.model);
}

TEST(ReportPage, NeedsNothingElse) {
  const std::string page = report_page(report_json(sample_report()));
  EXPECT_EQ(count(page, " src="), 0u);
  EXPECT_EQ(count(page, "@import"), 0u);
  EXPECT_EQ(count(page, "url("), 0u);
  // The one address is SVG's name.
  EXPECT_EQ(count(page, "http"), count(page, "http://www.w3.org/2000/svg") + count(page, "http-equiv"));
  EXPECT_THAT(page, testing::HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("<!-- ")));
}

TEST(ReportPage, OtherTextsHaveNoData) {
  EXPECT_EQ(data_of_page("<html></html>"), std::nullopt);
  EXPECT_EQ(data_of_page(""), std::nullopt);
}

}  // namespace
}  // namespace hone
