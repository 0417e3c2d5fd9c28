#include "tests/bench/models/table.h"

#include <gmock/gmock.h>

#include "tests/unit/bench_models/sample_report.h"

namespace hone::bench {
namespace {

using testing::HasSubstr;

TEST(Table, RowHasTimesRatiosAndWhereTheConfigsAreFrom) {
  EXPECT_EQ(row_text(sample_row("mobile", "convolutions", 2, 2, 1, 3), {.tuned = true}),
            "mobile                       2      2.00      1.00      3.00     1.50     3.00  7 best, 2 nearest\n");
  EXPECT_EQ(row_text(sample_row("mobile", "convolutions", 1, 2, 1, 3), {}),
            "mobile                       1      2.00      3.00     1.50  7 best, 2 nearest\n");
}

TEST(Table, RowSaysWhenOthersUsedTheMachine) {
  Row row = sample_row("mobile", "convolutions", 1, 2, 1, 3);
  row.others_cpus = 0.1;
  EXPECT_THAT(row_text(row, {}), testing::Not(HasSubstr("others")));
  row.others_cpus = 1.26;
  EXPECT_THAT(row_text(row, {}), HasSubstr("7 best, 2 nearest; beside others on 1.3 CPUs\n"));
}

TEST(Table, HeaderEndsWhereTheRowsColumnsEnd) {
  for (const Columns& c : {Columns{}, Columns{true, false}, Columns{false, true}, Columns{true, true}}) {
    const std::string header = header_text(c), row = row_text(sample_report().rows[0], c);
    const std::string names = header.substr(header.find('\n') + 1);
    EXPECT_EQ(names.find("configs"), row.find("7 best")) << header << row;
  }
}

TEST(Table, RowThatFailedSaysWhyAndHasNoTime) {
  EXPECT_EQ(row_text(sample_report().rows.back(), {.tuned = true}),
            "residual                     2  ONNX Runtime: ended with SIGKILL (Killed)\n");
}

TEST(Table, SpinningPeerHasAColumnAndDashesWhereItHasNoTime) {
  Row row = sample_row("mobile", "convolutions", 1, 2, 1, 3);
  EXPECT_EQ(row_text(row, {.spinning = true}),
            "mobile                       1      2.00      3.00         -     1.50  7 best, 2 nearest\n");
  row.turns_ms[kSpinningPeer] = {2.5};
  EXPECT_THAT(row_text(row, {.spinning = true}), HasSubstr("      3.00      2.50     1.50"));
}

TEST(Table, MeansAreOfGroupsAndOfAllForEachNumberOfThreads) {
  const std::string text = summary_text(sample_report(), {.tuned = true});
  EXPECT_THAT(text, HasSubstr("geometric means\n"
                              "convolutions (2)             1                                   0.50     1.00\n"
                              "products (1)                 1                                   4.00     4.00\n"
                              "all (3)                      1                                   1.00     1.59\n"
                              "convolutions (1)             2                                   0.50     1.00\n"
                              "all (1)                      2                                   0.50     1.00\n"));
  Report one_group = sample_report();
  one_group.rows.resize(2);
  EXPECT_THAT(summary_text(one_group, {.tuned = true}), testing::Not(HasSubstr("convolutions (2)")));
}

TEST(Table, MeansStandBelowTheRowsRatios) {
  for (const Columns& c : {Columns{}, Columns{true, false}, Columns{false, true}, Columns{true, true}}) {
    const std::string row = row_text(sample_report().rows[0], c), means = summary_text(sample_report(), c);
    const size_t line = means.find("all (3)");
    ASSERT_NE(line, std::string::npos);
    EXPECT_EQ(means.substr(line, means.find('\n', line) - line).size(), row.find("  7 best"));
  }
}

TEST(Table, SizesAndStartsAreALineForEachModel) {
  const std::string text = summary_text(sample_report(), {.tuned = true});
  EXPECT_THAT(text, HasSubstr("mobile                              1.50     46.00          1.5       30.0       40.0"
                              "        3.0\n"));
  EXPECT_EQ(text.find("mobile  "), text.rfind("mobile  ")) << "one line, of its first row";
  EXPECT_THAT(text, testing::EndsWith("\n\nA machine, 2 CPUs; ONNX Runtime 1.30.0\n"));
}

TEST(Table, OperationsOfBothSidesStandBesideEachOther) {
  Row row = sample_row("mobile", "convolutions", 1, 2, 1, 3);
  EXPECT_EQ(layers_text(row), "");
  row.layers[kTuned] = {{"a + r", "conv2d", 0.5}, {"b", "conv2d", 0.25}, {"t", "transpose", 0.25}};
  EXPECT_EQ(layers_text(row), "") << "there is nothing to compare with";
  row.layers[kPeer] = {{"a", "FusedConv", 1.98}, {"r", "Relu", 0.01}, {"s", "Sigmoid", 0.01}};
  EXPECT_EQ(layers_text(row),
            "  Hone, tuned              layers        ms  share    ONNX Runtime             layers        ms  share\n"
            "  conv2d                        2     0.750  75.0%    FusedConv                     1      1.98  99.0%\n"
            "  transpose                     1     0.250  25.0%    others                        2    0.0200   1.0%\n"
            "  all                           3      1.00 100.0%    all                           3      2.00 100.0%\n");
}

TEST(Table, SaysWhyThereAreNoLayers) {
  Row row = sample_row("mobile", "convolutions", 1, 2, 1, 3);
  row.no_layers = "ONNX Runtime: no profile";
  EXPECT_EQ(layers_text(row), "  layers: ONNX Runtime: no profile\n");
}

TEST(Table, LongerSideOfTheOperationsGoesOn) {
  Row row = sample_row("mobile", "convolutions", 1, 2, 1, 3);
  row.layers[kUntuned] = {{"a", "conv2d", 1}};
  row.layers[kPeer] = {{"a", "FusedConv", 2}, {"r", "Relu", 1}};
  EXPECT_THAT(layers_text(row), HasSubstr("\n  all                           1      1.00 100.0%    Relu "));
  EXPECT_THAT(layers_text(row),
              testing::EndsWith("\n" + std::string(54, ' ') + "all                           2      3.00 100.0%\n"));
}

TEST(Table, HasNoSummaryWithoutTimes) {
  Report r = sample_report();
  r.rows.erase(r.rows.begin(), r.rows.end() - 1);
  EXPECT_EQ(summary_text(r, {.tuned = true}), "");
}

}  // namespace
}  // namespace hone::bench
