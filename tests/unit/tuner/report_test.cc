#include "tuner/cli/report.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace hone {
namespace {

const Workload& dense() {
  static const Workload w = Workload::parse("dense", "m=128,n=768,k=768");
  return w;
}
const Space& space() {
  static const Space s("toy", 1, [](Knobs& k) {
    k.split("tile", 8, 2);
    k.choice("unroll", {1, 4});
  });
  return s;
}

SessionOutcome outcome() {
  SessionOutcome o;
  o.best = Ranked{"tile=2x4,unroll=4", 1e-3, 0.02, true};
  o.default_config = Ranked{"tile=8x1,unroll=1", 2e-3, 0.01, true};
  o.trials = 12, o.resumed = 2;
  o.by_status = {{"ok", 11}, {"run_timeout", 1}};
  o.stopped_by = "all trials done";
  o.accounting.total = 5;
  return o;
}

const std::string kTarget = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2";

TEST(Report, JsonHasWhatIsPromised) {
  const Json j = Json::parse(json_report(outcome(), {dense(), kTarget, space(), "/tmp/x.db", ""}));
  EXPECT_EQ(j["workload"], to_string(dense()));
  EXPECT_EQ(j["target"], kTarget);
  EXPECT_EQ(j["space"], space().fingerprint().hex());
  EXPECT_EQ(j["best"]["config"], (Json{{"tile", "2x4"}, {"unroll", 4}}));
  EXPECT_DOUBLE_EQ(j["best"]["time_ms"], 1.0);
  EXPECT_DOUBLE_EQ(j["best"]["gflops"], 2.0 * 128 * 768 * 768 / 1e-3 * 1e-9);
  EXPECT_EQ(j["best"]["confirmed"], true);
  EXPECT_DOUBLE_EQ(j["best"]["spread"], 0.02);
  EXPECT_DOUBLE_EQ(j["default"]["time_ms"], 2.0);
  EXPECT_EQ(j["trials"], 12);
  EXPECT_EQ(j["by_status"], (Json{{"ok", 11}, {"run_timeout", 1}}));
  EXPECT_DOUBLE_EQ(j["trials_per_second"], 2.0) << "only the ten new ones";
  EXPECT_EQ(j["db"], "/tmp/x.db");
}

TEST(Report, TextNamesBestDefaultAndWhatToDoNext) {
  const std::string text = text_report(outcome(), {dense(), kTarget, space(), "/tmp/x.db", "tensorc --task dense"});
  for (const char* part : {"2.00x the default", "(confirmed, spread 2.0%)", "tile=2x4,unroll=4", "failed: 1 run_timeout", "/tmp/x.db", "next      tensorc --task dense"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(Report, NothingFoundIsNull) {
  SessionOutcome o;
  const Json j = Json::parse(json_report(o, {dense(), kTarget, space(), "/tmp/x.db", ""}));
  EXPECT_TRUE(j["best"].is_null());
  EXPECT_TRUE(j["default"].is_null());
}

}  // namespace
}  // namespace hone
