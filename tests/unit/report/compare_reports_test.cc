#include "compiler/report/compare_reports.h"

#include <gmock/gmock.h>

#include "tests/fakes/sample_report.h"

namespace hone {
namespace {

using testing::ElementsAre;

ReportLayer layer(const std::string& nodes, const std::string& workload, const std::string& config = "tile=4") {
  return sample_layer(nodes, workload, config, 1e-3);
}

TEST(PairLayers, EqualOnesInOrderThenTheSameNodesThenTheSameWorkload) {
  const std::vector<ReportLayer> before = {layer("a", "dense(m=1)"),    layer("b", "dense(m=1)"),
                                           layer("b", "dense(m=1)"),    layer("c", "conv(layout=NCHW)"),
                                           layer("old_name", "pool()"), layer("gone", "softmax()")};
  const std::vector<ReportLayer> now = {layer("b", "dense(m=1)"),    layer("b", "dense(m=1)"),
                                        layer("a", "dense(m=1)"),    layer("c", "conv(layout=NCHW16c)"),
                                        layer("new_name", "pool()"), layer("new", "reduce()")};
  EXPECT_THAT(pair_layers(before, now),
              ElementsAre(LayerPair{1, 0}, LayerPair{2, 1}, LayerPair{0, 2}, LayerPair{3, 3}, LayerPair{4, 4},
                          LayerPair{std::nullopt, 5}, LayerPair{5, std::nullopt}));
}

TEST(PairLayers, NodesWithoutNamesAreNotTheSame) {
  EXPECT_THAT(pair_layers({layer("", "dense(m=1)")}, {layer("", "pool()")}),
              ElementsAre(LayerPair{std::nullopt, 0}, LayerPair{0, std::nullopt}));
}

TEST(CompareReports, SaysWhatChangedOfEachLayer) {
  const ModelReport before = sample_report();
  ModelReport now = before;
  now.variants[0].layers[0].config = "tile=8";
  now.variants[0].layers[1].nodes = "other";
  now.variants[0].layers[1].workload = "dense(m=2,n=10)";
  const OrderedJson j = compare_reports(before, now);
  EXPECT_EQ(j["notes"], OrderedJson::array());
  const OrderedJson& v = j["variants"][0];
  EXPECT_EQ(v["median_seconds"], 3e-3);
  EXPECT_EQ(v["arena_bytes"], 1024);
  ASSERT_EQ(v["layers"].size(), 3u);
  EXPECT_EQ(v["layers"][0]["state"], "config");
  EXPECT_EQ(v["layers"][0]["before"]["config"], "tile=4");
  EXPECT_EQ(v["layers"][0]["before"]["seconds"], 2e-3);
  EXPECT_EQ(v["layers"][0]["now"], 0);
  EXPECT_EQ(v["layers"][1]["state"], "new");
  EXPECT_FALSE(v["layers"][1].contains("before"));
  EXPECT_EQ(v["layers"][2]["state"], "gone");
  EXPECT_FALSE(v["layers"][2].contains("now"));
}

TEST(CompareReports, SaysWhyTimesMayNotBeCompared) {
  ModelReport before = sample_report(), now = before;
  now.machine = "Another CPU";
  now.target = "llvm -threads=4";
  before.hone = "0.0.9";
  EXPECT_THAT(compare_reports(before, now)["notes"].get<std::vector<std::string>>(),
              ElementsAre("another target: llvm -threads=2 before, llvm -threads=4 now",
                          "another machine: A CPU before, Another CPU now",
                          "another version of Hone: 0.0.9 before, 0.1.0 now"));
}

TEST(CompareReports, FindsVariantsByNameElseByThreadsAndInputs) {
  const ModelReport before = sample_report();
  ModelReport now = before;
  now.variants.push_back(now.variants[0]);
  now.variants[0].name = "2 threads";
  now.variants[1].name = "1 thread";
  now.variants[1].threads = 1;
  const OrderedJson j = compare_reports(before, now);
  ASSERT_EQ(j["variants"].size(), 1u);
  EXPECT_EQ(j["variants"][0]["name"], "2 threads");
  EXPECT_EQ(j["notes"][0], "the older report has no variant '1 thread'");
}

}  // namespace
}  // namespace hone
