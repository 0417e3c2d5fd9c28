#include "db/autotvm.h"

#include <sstream>

#include "db_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// In AutoTVM's format, of our own making.
std::string line(const std::string& result = "[[0.25, 0.5, 0.125], 0, 1.5, 1600000000.5]",
                 const std::string& name = "dense_nopack.x86") {
  return R"({"input": ["llvm -mcpu=core-avx2", ")" + name +
         R"(", [["TENSOR", [4, 8], "float32"], ["TENSOR", [16, 8], "float32"], null, "float32"], {}], "config": {"index": 7, "code_hash": null, "entity": [["tile_y", "sp", [1, 4]], ["tile_x", "sp", [2, 8]], ["tile_k", "sp", [2, 4]]]}, "result": )" +
         result + R"(, "version": 0.2, "tvm_version": "0.7.dev0"})";
}

StatusOr<ForeignCount> import_text(Store& store, const std::string& text, const ForeignMapper& mapper = {}) {
  std::istringstream in(text);
  LineReader lines(in);
  return import_autotvm(store, lines, "logs/some.log", mapper);
}

TEST(AutoTvm, ALineBecomesARow) {
  const auto row = autotvm_record(line());
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->template_name, "dense_nopack.x86");
  EXPECT_EQ(row->target, "llvm -mcpu=core-avx2");
  EXPECT_EQ(row->config, R"([["tile_y","sp",[1,4]],["tile_x","sp",[2,8]],["tile_k","sp",[2,4]]])");
  EXPECT_EQ(row->status, "ok");
  EXPECT_EQ(row->seconds, 0.25) << "the median";
  EXPECT_EQ(row->hash.size(), 32u);
  EXPECT_NE(row->hash, autotvm_record(line("[[0.25], 0, 1, 1]"))->hash);
}

TEST(AutoTvm, ErrorsAreStatuses) {
  const char* statuses[] = {"ok",           "invalid_config", "build_failed", "build_failed", "run_failed",
                            "wrong_result", "build_timeout",  "run_timeout",  "run_failed"};
  for (int error = 1; error < 9; ++error) {
    const auto row = autotvm_record(line("[[\"RuntimeError('...')\"], " + std::to_string(error) + ", 1, 1]"));
    ASSERT_TRUE(row.ok()) << row.status();
    EXPECT_EQ(row->status, statuses[error]);
    EXPECT_EQ(row->seconds, std::nullopt);
  }
}

TEST(AutoTvm, IsRecognisedBehindComments) {
  const auto recognised = [](const std::string& text) {
    std::istringstream in(text);
    LineReader lines(in);
    const bool is = is_autotvm_log(lines);
    const int64_t number = lines.number();
    std::string line;
    EXPECT_TRUE(!is || (lines.next(&line) && lines.number() == number && line.find("input") != std::string::npos))
        << "given again";
    return is;
  };
  EXPECT_TRUE(recognised("# a comment\n\n" + line() + "\n"));
  EXPECT_TRUE(recognised(line().substr(0, 200) + "\n")) << "damaged";
  EXPECT_FALSE(recognised("{\"hone_tophub\":1}\n"));
  EXPECT_FALSE(recognised("# only a comment\n"));
  EXPECT_FALSE(recognised("\n"));
}

TEST(AutoTvm, ImportKeepsRecordsOnce) {
  auto store = memory_store();
  const std::string text = "# made up\n" + line() + "\n\n" + line("[[9e9], 4, 1, 1]") + "\r\n";
  const auto mapper = [](const ForeignRow& r) {
    return ForeignMeaning{true, kDense, r.status == "ok", r.status == "ok" ? "" : "failed there"};
  };
  auto count = import_text(*store, text, mapper);
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(count->records, 2);
  EXPECT_EQ(count->mapped, 2);
  EXPECT_EQ(count->seeds, 1);
  EXPECT_THAT(count->reasons, ElementsAre(testing::Pair("failed there", 1)));
  const std::vector<ForeignRow> rows = *store->foreign().list();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].source, "some.log");
  EXPECT_EQ(rows[0].line, 2);
  EXPECT_EQ(rows[1].line, 4);
  EXPECT_EQ(rows[1].reason, "failed there");
  EXPECT_EQ(rows[0].workload, kDense);
  count = import_text(*store, "\n\n" + text, mapper);
  EXPECT_EQ(count->records, 0);
  EXPECT_EQ(count->duplicates, 2);
  EXPECT_EQ(*store->foreign().list(), rows) << "wherever the lines stand now";
}

TEST(AutoTvm, UnknownTemplatesAreSkippedAndCounted) {
  auto store = memory_store();
  const auto mapper = [](const ForeignRow& r) {
    return r.template_name == "other" ? ForeignMeaning{false, "", false, "no other here"}
                                      : ForeignMeaning{true, "", false, "too odd"};
  };
  const auto count = import_text(*store, line() + "\n" + line("[[1], 0, 1, 1]", "other") + "\n", mapper);
  EXPECT_EQ(count->records, 1);
  EXPECT_EQ(count->skipped, 1);
  EXPECT_EQ(count->mapped, 0);
  EXPECT_THAT(count->reasons, ElementsAre(testing::Pair("no other here", 1), testing::Pair("too odd", 1)));
  EXPECT_EQ(store->foreign().list()->front().reason, "too odd");
}

TEST(AutoTvm, ABadLineIsNamedAndNothingIsImported) {
  const auto refused = [](const std::string& bad, const std::string& why) {
    auto store = memory_store();
    const auto count = import_text(*store, line() + "\n# a comment\n" + bad + "\n");
    EXPECT_EQ(exit_code_of(count.status()), kExitUsage) << bad;
    EXPECT_THAT(message_of(count.status()), testing::StartsWith("logs/some.log:3: "));
    EXPECT_THAT(message_of(count.status()), HasSubstr(why));
    EXPECT_THAT(message_of(count.status()), HasSubstr("nothing was imported"));
    EXPECT_EQ(message_of(count.status()).find('\n'), std::string::npos);
    EXPECT_EQ(*store->foreign().count(), 0);
  };
  refused("{", "not a JSON object");
  refused("[1]", "not a JSON object");
  refused("{\"hone_tophub\":1}", "it has \"input\", \"config\" and \"result\"");
  refused(R"({"i": ["llvm", "x", [], {}], "r": [[1], 0, 1, 1], "v": 0.1})", "format 0.1");
  refused(line("[[0.1]]"), "\"result\" is not");
  refused(line("[[], 0, 1, 1]"), "neither times nor an error");
  refused(line("[[-1], 0, 1, 1]"), "time -1");
  refused(line("[[1e-300], 0, 1, 1]"), "time 1e-300 is not a number of seconds from 1e-09 to 1000000");
  refused(line("[[1]," + std::string(" 0, 1, 1]"), "dense\\u001b]0;title\\u0007.x86"),
          "template holds control characters");
  refused(line("[[1], 0, 1, 1]", "dense\\u009b31m.x86"), "template holds control characters");
  refused(std::string(17 << 20, ' '), "longer than 16 MiB");
  refused(line("[[\"fast\"], 0, 1, 1]"), "time \"fast\" is not a number of seconds");
  refused(line("[[1], 99, 1, 1]"), "error 99");
  refused(R"({"input": ["llvm", 3, []], "config": {"entity": []}, "result": [[1], 0]})", "\"input\" is not");
  refused(R"({"input": ["llvm", "x", []], "config": {}, "result": [[1], 0]})", "no array \"entity\"");
  refused(R"({"input": ["llvm", "x", []], "config": {"entity": [["tile"]]}, "result": [[1], 0]})",
          "is not [knob, kind, value]");
  refused(line().substr(0, 120), "not a JSON object");
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  const std::string begin = R"({"input": ["llvm", "x", )", rest = R"(], "config": {"entity": []}, "result": [[1], 0]})";
  refused(begin + deep + rest, "nested more than 32 deep");
  refused(begin + std::string(31, '[') + std::string(31, ']') + rest, "nested more than 32 deep");
  refused(R"({"input": ["llvm", "x", []], "config": {"entity": []}, "result": [[)" + deep + "], 0]}",
          "nested more than 32 deep");
  EXPECT_TRUE(autotvm_record(begin + std::string(30, '[') + std::string(30, ']') + rest).ok());
}

}  // namespace
}  // namespace hone::db
