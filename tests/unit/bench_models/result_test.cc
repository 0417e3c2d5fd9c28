// Ratios, means, and the stored part of a run.
#include "tests/bench/models/result.h"

#include <gmock/gmock.h>

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/unit/bench_models/sample_report.h"

namespace hone::bench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Median, IsTheMiddleOrTheMeanOfBothMiddles) {
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 3, 100}), 3.5);
}

TEST(GeometricMean, OfARatioAndItsInverseIsOne) {
  EXPECT_DOUBLE_EQ(geometric_mean({4, 0.25}), 1);
  EXPECT_DOUBLE_EQ(geometric_mean({2, 4, 8}), 4);
  EXPECT_EQ(geometric_mean({}), 0);
}

TEST(Row, RatioIsThePeersMedianOverOurs) {
  const Row row = sample_row("m", "products", 1, /*untuned=*/2, /*tuned=*/1, /*peer=*/3);
  EXPECT_DOUBLE_EQ(row.ratio(kUntuned), 1.5);
  EXPECT_DOUBLE_EQ(row.ratio(kTuned), 3);
  EXPECT_EQ(row.ratio(kSpinningPeer), 0) << "it has no time";
  Row alone = row;
  alone.turns_ms.erase(kPeer);
  EXPECT_EQ(alone.ratio(kTuned), 0);
}

TEST(Report, GathersRatiosByGroupAndThreads) {
  const Report r = sample_report();
  EXPECT_THAT(ratios(r, kTuned, "convolutions", 1), ElementsAre(2, 0.5));
  EXPECT_THAT(ratios(r, kTuned, "", 1), ElementsAre(2, 0.5, 4));
  EXPECT_THAT(ratios(r, kTuned, "", 2), ElementsAre(1)) << "the row with an error has no ratio";
  EXPECT_THAT(ratios(r, kSpinningPeer, "", 1), IsEmpty());
  EXPECT_THAT(groups_of(r), ElementsAre("convolutions", "products"));
  EXPECT_THAT(threads_of(r), ElementsAre(1, 2));
}

TEST(Report, ComesBackFromItsFile) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  Report r = sample_report();
  r.rows[1].no_layers = "no profile";
  r.rows[0].layers[kPeer] = {{"a", "FusedConv", 1.5}};
  ASSERT_TRUE(write_atomically(file, to_json(r).dump(1)).ok());
  const StatusOr<Report> back = read_report(file);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(to_json(*back), to_json(r));
  EXPECT_DOUBLE_EQ(back->rows[0].ratio(kTuned), 2);
  EXPECT_EQ(back->rows[0].starts.at(kPeer).open_ms, 40);
  EXPECT_EQ(back->rows[1].no_layers, "no profile");
  EXPECT_EQ(back->rows[0].layers.at(kPeer).at(0).ms, 1.5);
  EXPECT_EQ(back->rows.back().error, r.rows.back().error);
}

TEST(Report, IsNotReadFromOtherFiles) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/r.json";
  EXPECT_THAT(message_of(read_report(file).status()), AllOf(HasSubstr(file), HasSubstr("cannot be read")));
  for (const char* text : {"", "[]", "{}", "{\"machine\": 1}", "nonsense"}) {
    ASSERT_TRUE(write_atomically(file, text).ok());
    const Status s = read_report(file).status();
    EXPECT_EQ(exit_code_of(s), kExitUsage) << text;
    EXPECT_THAT(message_of(s), AllOf(HasSubstr(file), HasSubstr("no report of bench_models"))) << text;
  }
}

}  // namespace
}  // namespace hone::bench
