#include "compiler/report/report_files.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "base/check.h"
#include "compiler/report/report_json.h"
#include "tests/fakes/sample_report.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;

struct ReportFiles : testing::Test {
  const TemporaryFolder temporary;
  std::string path(const std::string& name) const { return temporary.path() + "/" + name; }
  std::string text_of(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The error on the flags; empty: they are accepted.
  std::string refusal(const std::vector<std::string>& reports, const std::string& compare) const {
    try {
      const auto checked = check_report_flags(reports, compare);
      return checked.ok() ? "" : std::string(checked.status().message());
    } catch (const UserError& e) {
      return e.what();
    }
  }
};

TEST_F(ReportFiles, PageAndDataAreReadAlike) {
  ASSERT_TRUE(write_reports(sample_report(), std::nullopt, {path("r.html"), path("r.json")}).ok());
  EXPECT_THAT(text_of("r.html"), HasSubstr("<!doctype html>"));
  EXPECT_EQ(text_of("r.json"), json_line(report_json(sample_report())) + "\n");
  for (const char* name : {"r.html", "r.json"}) {
    const auto before = check_report_flags({path("new.html")}, path(name));
    ASSERT_TRUE(before.ok());
    EXPECT_EQ(report_json(**before), report_json(sample_report()));
  }
}

TEST_F(ReportFiles, ComparisonsAreInBoth) {
  ASSERT_TRUE(write_reports(sample_report(), sample_report(), {path("r.json")}).ok());
  EXPECT_EQ(OrderedJson::parse(text_of("r.json"))["compared"]["variants"][0]["layers"][0]["state"], "same");
  // A report that was compared is a report.
  EXPECT_EQ(refusal({path("new.html")}, path("r.json")), "");
}

TEST_F(ReportFiles, OtherFilesAreRefusedBeforeAnythingIsBuilt) {
  std::ofstream(path("m.so")) << "no report";
  EXPECT_THAT(refusal({path("r.txt")}, ""), HasSubstr(".html for a page, .json for its data"));
  EXPECT_THAT(refusal({temporary.path() + "/./m.onnx"}, ""), HasSubstr(".html for a page"));
  EXPECT_THAT(refusal({}, path("r.json")), HasSubstr("--compare belongs to --report"));
  EXPECT_THAT(refusal({path("r.html")}, path("none.json")), HasSubstr("No such file"));
  EXPECT_THAT(refusal({path("r.html")}, temporary.path()), HasSubstr("it is a folder, not a plain file"));
  EXPECT_THAT(refusal({path("r.html")}, path("m.so")), HasSubstr("is no report that tensorc --report has written"));
  EXPECT_TRUE(check_report_flags({}, "").ok());
}

TEST_F(ReportFiles, TheTimeIsOneThatPeopleRead) {
  EXPECT_THAT(time_now(), testing::MatchesRegex("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]"));
}

}  // namespace
}  // namespace hone
