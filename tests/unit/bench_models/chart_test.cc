#include "tests/bench/models/chart.h"

#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "tests/fakes/well_formed_svg.h"
#include "tests/unit/bench_models/sample_report.h"

namespace hone::bench {
namespace {

using testing::HasSubstr;

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex r(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), r), end; it != end; ++it) found.push_back((*it)[1]);
  return found;
}

TEST(Chart, HasARowForEachModelAPanelForEachNumberOfThreadsAndTheMeans) {
  const std::string svg = chart_svg(sample_report());
  expect_well_formed(svg);
  for (const char* text : {">mobile<", ">residual<", ">text<", ">convolutions<", ">products<", ">1 thread<",
                           ">2 threads<", ">all models, geometric mean<", ">0.50<", ">1.59<"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_EQ(matches(svg, "(>mobile<)").size(), 1u) << "one label for both panels";
  // One for each group and one for all, on one thread and on two, where one group has no times; one in the legend.
  EXPECT_EQ(matches(svg, R"((<path d="M[^"]*z"))").size(), 3u + 2 + 1);
}

TEST(Chart, PutsRatiosBesideTheLineAtOneOnALogarithmicAxis) {
  Report r = sample_report();
  r.rows = {sample_row("even", "g", 1, 1, 1, 1), sample_row("twice", "g", 1, 2, 2, 4),
            sample_row("half", "g", 1, 4, 4, 2)};
  const std::string svg = chart_svg(r);
  // Dots of tuned models: the one in the legend, then those of the rows.
  const auto x = matches(svg, R"lit(<circle cx="([0-9.]+)" cy="[0-9.]+" r="4.5")lit");
  ASSERT_EQ(x.size(), 4u);
  const double one = std::stod(x[1]), twice = std::stod(x[2]), half = std::stod(x[3]);
  EXPECT_GT(twice, one + 20);
  EXPECT_NEAR(twice - one, one - half, 0.2);
  EXPECT_THAT(svg, HasSubstr("<line x1=\"" + x[1] + "\"")) << "the line at 1";
}

TEST(Chart, ShowsWhyAModelHasNoTime) {
  EXPECT_THAT(chart_svg(sample_report()), HasSubstr("ONNX Runtime: ended with SIGKILL"));
  Report none = sample_report();
  none.rows.erase(none.rows.begin(), none.rows.end() - 1);
  expect_well_formed(chart_svg(none));
  none.rows.clear();
  expect_well_formed(chart_svg(none));
}

TEST(Chart, EscapesNamesFromElsewhere) {
  Report r = sample_report();
  r.machine = "<script>&\"";
  r.rows[0].model = "</text><b>";
  r.rows[4].error = "a < b & \x01";
  const std::string svg = chart_svg(r);
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;&amp;&quot;"));
  EXPECT_THAT(svg, HasSubstr("&lt;/text&gt;&lt;b&gt;"));
  EXPECT_THAT(svg, testing::Not(HasSubstr("<b>")));
}

TEST(Chart, EveryColorHasOneForDarkPages) {
  const std::string svg = chart_svg(sample_report());
  const size_t end = svg.find("</style>");
  ASSERT_NE(end, std::string::npos);
  const std::string style = svg.substr(0, end), body = svg.substr(end);
  const auto used = matches(body, R"lit((?:fill|stroke)="(#[0-9a-f]+)")lit");
  EXPECT_GT(std::set<std::string>(used.begin(), used.end()).size(), 6u);
  for (const std::string& color : used) EXPECT_THAT(style, HasSubstr("[fill=\"" + color + "\"]{fill:#"));
}

TEST(Chart, HoldsRatiosFarFromOne) {
  Report r = sample_report();
  r.rows = {sample_row("slow", "g", 1, 100, 90, 1), sample_row("fast", "g", 1, 1, 0.5, 100)};
  expect_well_formed(chart_svg(r));
}

}  // namespace
}  // namespace hone::bench
