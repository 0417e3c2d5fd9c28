#include "compiler/report/report_json.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "compiler/report/report_page.h"
#include "tests/fakes/sample_report.h"

namespace hone {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse_report(text, "old.json");
  } catch (const UserError& e) {
    return e.what();
  }
  return "none";
}

TEST(ReportJson, IsReadAsItWasWritten) {
  const OrderedJson j = report_json(sample_report());
  EXPECT_EQ(report_json(parse_report(json_line(j), "old.json")), j);
  // Every member of the sample is there.
  EXPECT_EQ(j["variants"][0]["layers"][1]["in_place"], "relu_out");
  EXPECT_EQ(j["variants"][0]["layers"][1]["error"], 1e-7);
  EXPECT_EQ(j["variants"][0]["buffers"][1]["offset"], 640);
  EXPECT_DOUBLE_EQ(j["variants"][0]["layer_seconds"].get<double>(), 3e-3);
}

TEST(ReportJson, LeavesOutWhatWasNotMeasured) {
  ModelReport r = sample_report();
  r.variants[0].layers[0].seconds.reset();
  r.variants[0].median_seconds.reset();
  const OrderedJson j = report_json(r);
  EXPECT_FALSE(j["variants"][0].contains("layer_seconds"));
  EXPECT_FALSE(j["variants"][0].contains("median_seconds"));
  EXPECT_EQ(report_json(parse_report(json_line(j), "old.json")), j);
}

TEST(ReportJson, BytesThatAreNoUtf8AreReplaced) {
  ModelReport r = sample_report();
  r.variants[0].layers[0].nodes = "conv\xff";
  EXPECT_EQ(parse_report(json_line(report_json(r)), "old.json").variants[0].layers[0].nodes, "conv\xef\xbf\xbd");
}

TEST(ReportJson, ForeignFilesAreRefusedInOneLine) {
  for (const char* text : {"", "no JSON", "[1]", "3", "{}", R"({"name": "m"})", "{\"hone_report\": 1,"})
    EXPECT_EQ(error_of(text), "'old.json' is no report that tensorc --report has written") << text;
  constexpr size_t kDeep = 100000;
  EXPECT_EQ(error_of("{\"hone_report\":" + std::string(kDeep, '[') + std::string(kDeep, ']') + "}"),
            "'old.json' is no report that tensorc --report has written");
  EXPECT_EQ(error_of(R"({"hone_report": 2})"),
            "'old.json' is a report of another version of Hone: of format 2, and this one reads 1");
}

TEST(ReportJson, DamagedOnesSayWhere) {
  EXPECT_EQ(error_of(R"({"hone_report": 1})"), "'old.json' is a damaged report: variants");
  EXPECT_EQ(error_of(R"({"hone_report": 1, "model": 3, "variants": []})"), "'old.json' is a damaged report: model");
  OrderedJson j = report_json(sample_report());
  const auto damaged = [&](const char* at, OrderedJson value) {
    OrderedJson copy = j;
    copy[OrderedJson::json_pointer(at)] = std::move(value);
    return error_of(json_line(copy));
  };
  EXPECT_EQ(damaged("/variants/0/layers/1/seconds", "fast"),
            "'old.json' is a damaged report: variants[0].layers[1].seconds");
  EXPECT_EQ(damaged("/variants/0/layers/0", 1),
            "'old.json' is a damaged report: variants[0].layers[0].is not an object");
  EXPECT_EQ(damaged("/variants/0/arena_bytes", -1), "'old.json' is a damaged report: variants[0].arena_bytes");
  EXPECT_EQ(damaged("/variants/0/threads", 0.5), "'old.json' is a damaged report: variants[0].threads");
}

}  // namespace
}  // namespace hone
