#include "tuner/cli/report.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

const Workload& dense() {
  static const Workload w = Workload::parse(test_operators(), "dense", "m=128,n=768,k=768");
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

const std::string kReportTarget = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2";

TEST(Report, JsonHasWhatIsPromised) {
  const Json j = Json::parse(json_report(outcome(), {dense(), kReportTarget, space(), "/tmp/x.db", ""}));
  EXPECT_EQ(j["workload"], to_string(dense()));
  EXPECT_EQ(j["target"], kReportTarget);
  EXPECT_EQ(j["space"], space().fingerprint().hex());
  EXPECT_EQ(j["best"]["config"], (Json{{"tile", "2x4"}, {"unroll", 4}}));
  EXPECT_DOUBLE_EQ(j["best"]["time_ms"], 1.0);
  EXPECT_DOUBLE_EQ(j["best"]["gflops"], 2.0 * 128 * 768 * 768 / 1e-3 * 1e-9);
  EXPECT_EQ(j["best"]["confirmed"], true);
  EXPECT_DOUBLE_EQ(j["best"]["spread"], 0.02);
  EXPECT_DOUBLE_EQ(j["default"]["time_ms"], 2.0);
  EXPECT_EQ(j["trials"], 12);
  EXPECT_EQ(j["by_status"], (Json{{"ok", 11}, {"run_timeout", 1}}));
  EXPECT_EQ(j["ended"], outcome().stopped_by);
  EXPECT_DOUBLE_EQ(j["trials_per_second"], 2.0) << "only the ten new ones";
  EXPECT_EQ(j["db"], "/tmp/x.db");
}

TEST(Report, TextNamesBestDefaultAndWhatToDoNext) {
  const std::string text =
      text_report(outcome(), {dense(), kReportTarget, space(), "/tmp/x.db", "tensorc --task dense"});
  for (const char* part : {"2.00x the default", "(confirmed, spread 2.0%)", "tile=2x4,unroll=4",
                           "failed: 1 run_timeout", "/tmp/x.db", "next      tensorc --task dense"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(Report, SaysHowSureItIs) {
  SessionOutcome o = outcome();
  o.second = Ranked{"tile=4x2,unroll=4", 1.034e-3, 0.01, true};
  o.accuracy = {0.87, 0.91, 0.97};
  o.accounting.batches = 14, o.accounting.drifted_batches = 2;
  o.accounting.idle = 0.5, o.accounting.measure = 5, o.accounting.devices_seen = 2;
  const std::string text = text_report(o, {dense(), kReportTarget, space(), "/tmp/x.db", ""});
  EXPECT_NE(text.find("margin    3.4% ahead of the second finalist\n"
                      "quiet     12 of 14 batches, in the others something slowed a device; devices idle 5.0%\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("model     ordered 87% of the pairs rightly, its first choice had 91% of its batch's best speed\n"),
      std::string::npos)
      << text;
  const Json j = Json::parse(json_report(o, {dense(), kReportTarget, space(), "/tmp/x.db", ""}));
  EXPECT_NEAR(j["margin"].get<double>(), 0.034, 1e-9);
  EXPECT_EQ(j["batches"], 14);
  EXPECT_EQ(j["drifted_batches"], 2);
  EXPECT_EQ(j["disturbed_by"], Json::object());
  EXPECT_DOUBLE_EQ(j["idle_share"], 0.05);
  EXPECT_EQ(j["accuracy"], (Json{{"pairwise", 0.87}, {"peak1", 0.91}, {"peak5", 0.97}}));
  const Json bare = Json::parse(json_report(outcome(), {dense(), kReportTarget, space(), "/tmp/x.db", ""}));
  EXPECT_TRUE(bare["margin"].is_null());
  EXPECT_TRUE(bare["accuracy"]["pairwise"].is_null());
}

TEST(Report, ComparesOnlyWhatWasMeasuredSideBySide) {
  SessionOutcome o = outcome();
  o.best->job = "s2 7", o.default_config->job = "s1 9";
  o.second = Ranked{"tile=4x2,unroll=4", 1.034e-3, 0.01, true, "s1 9"};
  const ReportContext context{dense(), kReportTarget, space(), "/tmp/x.db", ""};
  const std::string text = text_report(o, context);
  EXPECT_EQ(text.find("x the default"), std::string::npos) << text;
  EXPECT_EQ(text.find("ahead of"), std::string::npos) << text;
  EXPECT_TRUE(Json::parse(json_report(o, context))["margin"].is_null());
  o.default_config->job = o.second->job = "s2 7";
  EXPECT_NE(text_report(o, context).find("2.00x the default"), std::string::npos);
}

TEST(Report, SaysWhatWasDisturbed) {
  SessionOutcome o = outcome();
  const ReportContext context{dense(), kReportTarget, space(), "/tmp/x.db", ""};
  EXPECT_EQ(text_report(o, context).find("disturbed"), std::string::npos);
  EXPECT_EQ(Json::parse(json_report(o, context))["best"]["disturbed"], false);
  o.best->disturbed = o.default_config->disturbed = true;
  const std::string text = text_report(o, context);
  for (const char* part : {"2.00x the default  (confirmed, disturbed, spread 2.0%)",
                           "\ndisturbed others used the machine", "confirms it again when it is quiet\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  o.best->disturbed_by = "throttled: undervoltage";
  o.accounting.batches = 14, o.accounting.drifted_batches = 2;
  o.accounting.disturbed_by = {{"others used the machine", 1}, {"throttled: undervoltage", 12}};
  for (const char* part :
       {"\ndisturbed throttled: undervoltage while this was timed: only",
        "12 of 14 batches, in the others something slowed a device (others used the machine in 1 trial, "
        "throttled: undervoltage in 12 trials); devices idle"})
    EXPECT_NE(text_report(o, context).find(part), std::string::npos) << part << " in\n" << text_report(o, context);
  const Json j = Json::parse(json_report(o, context));
  EXPECT_EQ(j["disturbed_by"], (Json{{"others used the machine", 1}, {"throttled: undervoltage", 12}}));
  EXPECT_EQ(j["best"]["disturbed_by"], "throttled: undervoltage");
  EXPECT_EQ(j["best"]["disturbed"], true);
  EXPECT_EQ(j["best"]["of_default"], 0.5);
  EXPECT_EQ(j["default"]["disturbed"], true);
  const std::vector<ReportedTask> tasks{{dense(), "dense", 1, space()}};
  TasksOutcome several;
  several.tasks = {o};
  EXPECT_NE(text_report(several, tasks, kReportTarget, "/tmp/x.db").find(", confirmed, disturbed\n"),
            std::string::npos);
  EXPECT_EQ(Json::parse(json_report(several, tasks, kReportTarget, "/tmp/x.db"))["tasks"][0]["best"]["disturbed"],
            true);
}

TEST(Report, SeveralTasksHaveALineEachAndATotal) {
  const Workload other = Workload::parse(test_operators(), "dense", "m=1,n=768,k=768");
  TasksOutcome o;
  o.tasks = {outcome(), outcome()};
  o.tasks[1].best->seconds = 5e-4;
  o.tasks[1].best->confirmed = false;
  o.stopped_by = "all trials done";
  o.accounting.total = 10;
  const std::vector<ReportedTask> tasks{{dense(), "dense", 2, space()}, {other, "dense m=1", 1, space()}};
  const std::string text = text_report(o, tasks, kReportTarget, "/tmp/x.db");
  for (const char* part : {"dense m=1 ", "total     2.50 ms weighted, default 6.00 ms: 2.40x", "4.00x", "provisional",
                           "trials    24, 4 of them from earlier sessions; failed: 2 run_timeout", "/tmp/x.db"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  const Json j = Json::parse(json_report(o, tasks, kReportTarget, "/tmp/x.db"));
  EXPECT_EQ(j["tasks"].size(), 2u);
  EXPECT_EQ(j["tasks"][1]["workload"], to_string(other));
  EXPECT_EQ(j["tasks"][0]["weight"], 2);
  EXPECT_EQ(j["tasks"][0]["best"]["config"], (Json{{"tile", "2x4"}, {"unroll", 4}}));
  EXPECT_DOUBLE_EQ(j["total"]["time_ms"], 2.5);
  EXPECT_DOUBLE_EQ(j["total"]["default_time_ms"], 6);
  EXPECT_EQ(j["trials"], 24);
  EXPECT_EQ(j["by_status"], (Json{{"ok", 22}, {"run_timeout", 2}}));
  EXPECT_DOUBLE_EQ(j["trials_per_second"], 2);
}

TEST(Report, ATaskWithoutAResultSaysWhy) {
  TasksOutcome o;
  o.tasks = {outcome(), SessionOutcome()};
  o.tasks[1].first_failure = "build_failed: no such instruction";
  o.accounting.total = 1;
  const std::vector<ReportedTask> tasks{{dense(), "dense", 1, space()}, {dense(), "other", 1, space()}};
  const std::string text = text_report(o, tasks, kReportTarget, "/tmp/x.db");
  EXPECT_NE(text.find("no result: build_failed: no such instruction"), std::string::npos) << text;
  EXPECT_EQ(text.find("total"), std::string::npos) << "there is none\n" << text;
  const Json j = Json::parse(json_report(o, tasks, kReportTarget, "/tmp/x.db"));
  EXPECT_TRUE(j["tasks"][1]["best"].is_null());
  EXPECT_TRUE(j["total"]["time_ms"].is_null());
}

TEST(Report, TasksThatWereNotTriedAreOneRow) {
  TasksOutcome o;
  o.tasks = {outcome(), outcome(), SessionOutcome(), SessionOutcome()};
  o.tasks[1].best->seconds = 5e-3;
  o.stopped_by = "time is up";
  o.accounting.total = 1;
  const std::vector<ReportedTask> tasks{{dense(), "light", 1, space()},
                                        {dense(), "heavy", 1, space()},
                                        {dense(), "third", 2, space()},
                                        {dense(), "fourth", 1, space()}};
  const std::string text = text_report(o, tasks, kReportTarget, "/tmp/x.db");
  EXPECT_LT(text.find("\nheavy "), text.find("\nlight ")) << text;
  EXPECT_NE(text.find("\n2 more  no trials: time is up\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("third"), std::string::npos) << text;
  for (SessionOutcome& task : o.tasks) task.seconds_now = 1e-3;
  EXPECT_NE(text_report(o, tasks, kReportTarget, "/tmp/x.db").find("no trials: time is up, 60.0% of a run's time\n"),
            std::string::npos)
      << text;
  // A task whose trials failed says why, and a single one has its own row.
  o.tasks[2].trials = 3, o.tasks[2].first_failure = "build_failed: no such instruction";
  const std::string failed = text_report(o, tasks, kReportTarget, "/tmp/x.db");
  for (const char* part : {"no result: build_failed: no such instruction\n", "\nfourth ", "no result: time is up\n"})
    EXPECT_NE(failed.find(part), std::string::npos) << part << " in\n" << failed;
  EXPECT_EQ(Json::parse(json_report(o, tasks, kReportTarget, "/tmp/x.db"))["tasks"].size(), 4u);
}

TEST(Report, NothingFoundIsNull) {
  SessionOutcome o;
  const Json j = Json::parse(json_report(o, {dense(), kReportTarget, space(), "/tmp/x.db", ""}));
  EXPECT_TRUE(j["best"].is_null());
  EXPECT_TRUE(j["default"].is_null());
}

}  // namespace
}  // namespace hone
