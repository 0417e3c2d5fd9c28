// Sessions on machines that others use: the trials that are stored, their comparisons, and the work of the next quiet
// session on them.
#include <gmock/gmock.h>

#include <random>

#include "db/store.h"
#include "tests/unit/tuner/fakes.h"
#include "tuner/session/standings.h"

namespace hone {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;
using toy::FakeMeasurer;
using toy::MemoryLog;
using toy::Rig;

// Everything takes so much longer, and the device says that it was disturbed.
constexpr double kSlower = 1.6;

void disturb(Rig& run) {
  run.measurer.touch = [](wire::JobResult& r) {
    r.drifted = true;
    for (wire::CandidateResult& c : r.candidates)
      for (double& t : c.times) t *= kSlower;
  };
}

StatusOr<SessionOutcome> go(const Space& space, MemoryLog& log, const std::string& name, bool disturbed,
                            size_t trials = 60) {
  Rig run(space, log, name);
  run.options.trials = trials;
  if (disturbed) disturb(run);
  return run.go();
}

double quiet_seconds(const Space& space, const std::string& config) {
  return toy::kFlops / (toy::speed_of(space, space.parse(config)) * 1e9);
}

TEST(Disturbed, TrialsAreMarkedAndKeptBesideTheDefault) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  const auto out = go(space, log, "busy", true);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(log.rows, Each(Field(&db::TrialRow::disturbed, true)));
  const double of_default = kSlower * quiet_seconds(space, space.print(space.default_config()));
  size_t confirmed = 0;
  for (const db::TrialRow& row : log.rows) {
    EXPECT_EQ(row.default_seconds.has_value(), row.confirmed);
    EXPECT_DOUBLE_EQ(row.default_seconds.value_or(of_default), of_default);
    confirmed += row.confirmed;
  }
  EXPECT_EQ(confirmed, 6u);
  ASSERT_TRUE(out->best && out->default_config);
  EXPECT_TRUE(out->best->confirmed && out->best->disturbed);
  EXPECT_TRUE(side_by_side(*out->best, *out->default_config)) << "their ratio holds";
}

TEST(Disturbed, TrialsKeepHowTheirMachineWasAndTheReportSaysWhy) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  size_t results = 0;
  // The first is of an older agent; then one job of two finds a throttled machine.
  run.measurer.touch = [&](wire::JobResult& r) {
    if (++results == 1) return;
    r.machine = wire::MachineState{"ondemand", 60, 70, 600, 1800, results % 2 ? "thermal" : ""};
    r.drifted = results % 2 || results == 2;
  };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  size_t throttled = 0, others = 0, unknown = 0;
  for (const db::TrialRow& row : log.rows) {
    unknown += !row.machine;
    if (!row.machine) continue;
    EXPECT_THAT(row.machine->text(), ::testing::StartsWith("governor ondemand, 60 to 70 °C, 600 to 1800 MHz"));
    EXPECT_EQ(row.disturbed, !row.machine->throttled.empty() || row.seq == log.rows[1].seq);
    (row.machine->throttled.empty() ? others : throttled) += row.disturbed;
  }
  EXPECT_EQ(unknown, 1u);
  EXPECT_EQ(out->accounting.disturbed_by,
            (std::map<std::string, uint64_t>{{"others used the machine", others}, {"throttled: thermal", throttled}}));
  EXPECT_GT(throttled, 10u);
}

TEST(Disturbed, NothingIsStoredOfAMachineThatTellsNothing) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.measurer.touch = [](wire::JobResult& r) { r.machine.emplace(); };
  ASSERT_TRUE(run.go().ok());
  EXPECT_THAT(log.rows, Each(Field(&db::TrialRow::machine, std::optional<db::MachineState>())));
}

TEST(Disturbed, FailedTrialsAreNot) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  disturb(run);
  run.measurer.measure = [&](const Candidate& c) {
    return space.index_of(c.config) % 2 ? FakeMeasurer::failed(wire::ResultStatus::kRunFailed, "no")
                                        : FakeMeasurer::timed(1 + static_cast<double>(space.index_of(c.config)));
  };
  ASSERT_TRUE(run.go().ok());
  for (const db::TrialRow& row : log.rows) EXPECT_EQ(row.disturbed, row.status == "ok");
}

TEST(Disturbed, TheNextQuietSessionConfirmsAgainThoughNothingIsLeftToMeasure) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  const auto busy = go(space, log, "busy", true);
  ASSERT_TRUE(busy.ok());
  Rig again(space, log, "quiet");
  const auto out = again.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(again.measurer.measured, IsEmpty());
  EXPECT_EQ(again.measurer.several.size(), 1u);
  ASSERT_TRUE(out->best);
  EXPECT_TRUE(out->best->confirmed && !out->best->disturbed);
  EXPECT_EQ(out->best->config, busy->best->config);
  EXPECT_DOUBLE_EQ(out->best->seconds, quiet_seconds(space, out->best->config));
  EXPECT_TRUE(side_by_side(*out->best, *out->default_config));
  Rig third(space, log, "third");
  ASSERT_TRUE(third.go().ok());
  EXPECT_THAT(third.measurer.several, IsEmpty()) << "all is confirmed";
}

TEST(Disturbed, ItIsConfirmedAgainBeforeAnythingIsMeasured) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  ASSERT_TRUE(go(space, log, "busy", true).ok());
  Rig again(space, log, "quiet");
  again.options.trials = 80;
  again.measurer.on_collect = [&] {
    if (again.measurer.several.empty()) {
      EXPECT_THAT(again.measurer.proposed, IsEmpty());
    }
  };
  const auto out = again.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(again.measurer.measured.size(), 20u);
  ASSERT_TRUE(out->best);
  EXPECT_FALSE(out->best->disturbed);
}

TEST(Disturbed, WhereItIsStillNotQuietItIsTriedOnceASession) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  ASSERT_TRUE(go(space, log, "busy", true).ok());
  Rig again(space, log, "busy too");
  disturb(again);
  const auto out = again.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(again.measurer.several.size(), 1u);
  EXPECT_TRUE(out->best->confirmed && out->best->disturbed);
  EXPECT_EQ(out->best->job.substr(0, 8), "busy too");
}

TEST(Disturbed, AQuietBestStaysUntilTheOthersAreConfirmedInQuiet) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  const auto quiet = go(space, log, "quiet", false, 30);
  ASSERT_TRUE(quiet.ok());
  Rig busy(space, log, "busy");
  busy.options.trials = 90;
  disturb(busy);
  // However fast the disturbed ones are: they must not count by their time.
  busy.measurer.measure = [&](const Candidate& c) {
    return FakeMeasurer::timed(0.01 * quiet_seconds(space, c.config_text));
  };
  const auto out = busy.go();
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_TRUE(out->best);
  EXPECT_EQ(out->best->config, quiet->best->config);
  EXPECT_FALSE(out->best->disturbed);
  EXPECT_DOUBLE_EQ(out->best->seconds, quiet->best->seconds);
  // The best that the busy session found and the quiet one's best meet in the third.
  std::string found;
  double fastest = 1e9;
  for (const db::TrialRow& row : log.rows)
    if (row.disturbed && !row.confirmed && *row.seconds < fastest) fastest = *row.seconds, found = row.config;
  Rig third(space, log, "third");
  third.options.trials = 90;
  const auto last = third.go();
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_THAT(third.measurer.measured, IsEmpty());
  ASSERT_EQ(third.measurer.several.size(), 1u);
  const auto has = [&](const std::string& config) {
    return std::any_of(third.measurer.several[0].candidates.begin(), third.measurer.several[0].candidates.end(),
                       [&](const auto& c) { return c->config_text == config; });
  };
  EXPECT_TRUE(has(found));
  EXPECT_TRUE(has(quiet->best->config));
  EXPECT_FALSE(last->best->disturbed);
  EXPECT_DOUBLE_EQ(last->best->seconds, std::min(quiet_seconds(space, found), quiet->best->seconds));
}

TEST(Disturbed, AnInterruptedSessionConfirmsItNextTime) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  ASSERT_TRUE(go(space, log, "busy", true).ok());
  {
    Rig killed(space, log, "killed");
    killed.options.trials = 80;
    killed.measurer.dies_at = 0;
    EXPECT_FALSE(killed.go().ok());
  }
  const auto out = go(space, log, "quiet", false);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_FALSE(out->best->disturbed);
}

// A session's idea of its best is the database's answer.
TEST(Disturbed, StandingsRankAsTheDatabaseDoes) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](uint32_t n) { return random() % n; };
    const uint32_t disturbed_of_four = pick(5);
    db::OpenOptions options;
    options.mode = db::OpenMode::kMemory;
    const auto store = db::Store::open("memory", options).value();
    Standings standings;
    for (int i = 0; i < 12; ++i) {
      db::TrialRow row;
      row.session = "s" + std::to_string(i / 4), row.seq = i, row.workload = "dense(m=1)", row.target = "llvm",
      row.space = "ab", row.status = "ok";
      row.confirmed = i >= 6 && pick(2);
      // Each config is tried once; confirmed as often as there are rows.
      row.config = "c" + std::to_string(row.confirmed ? pick(6) : static_cast<uint32_t>(i));
      row.seconds = 1 + static_cast<double>(pick(1000)) * 1e-3, row.times = {*row.seconds};
      row.disturbed = pick(4) < disturbed_of_four;
      if (row.confirmed && row.disturbed && pick(3)) row.default_seconds = 1 + static_cast<double>(pick(1000)) * 1e-3;
      row.created_at = 1000 + i;
      ASSERT_TRUE(store->trials().add(std::vector{row}).ok());
      standings.add(row);
      const auto best = store->best().list().value();
      ASSERT_EQ(best.size(), 1u);
      ASSERT_TRUE(standings.best());
      EXPECT_EQ(standings.best()->seconds, best[0].seconds) << "seed " << seed << " row " << i;
      EXPECT_EQ(standings.best()->config, best[0].config) << "seed " << seed << " row " << i;
      EXPECT_EQ(standings.best()->disturbed, best[0].disturbed);
    }
  }
}

TEST(Disturbed, FinalistsAreTheFastestOfBothKinds) {
  Standings standings;
  for (int i = 0; i < 8; ++i) {
    db::TrialRow row;
    row.config = "c" + std::to_string(i), row.status = "ok", row.seconds = 1 + i, row.times = {*row.seconds};
    row.disturbed = i >= 4;
    standings.add(row);
  }
  EXPECT_THAT(standings.fastest(1), ::testing::ElementsAre("c0"));
  EXPECT_THAT(standings.fastest(5), ::testing::ElementsAre("c0", "c4", "c1", "c5", "c2"));
  EXPECT_THAT(standings.fastest(8), ::testing::ElementsAre("c0", "c4", "c1", "c5", "c2", "c6", "c3", "c7"));
}

TEST(Disturbed, OfOneKindAloneAllPlacesAreTaken) {
  for (const bool disturbed : {false, true}) {
    Standings standings;
    for (int i = 0; i < 4; ++i) {
      db::TrialRow row;
      row.config = "c" + std::to_string(i), row.status = "ok", row.seconds = 1 + i, row.times = {*row.seconds},
      row.disturbed = disturbed;
      standings.add(row);
    }
    EXPECT_THAT(standings.fastest(3), ::testing::ElementsAre("c0", "c1", "c2"));
  }
}

TEST(Disturbed, TheFastestTimeIsOfEitherKind) {
  Standings standings;
  for (int i = 0; i < 2; ++i) {
    db::TrialRow row;
    row.config = "c" + std::to_string(i), row.status = "ok", row.seconds = 1 + i, row.times = {*row.seconds},
    row.disturbed = i == 1;
    standings.add(row);
  }
  EXPECT_EQ(standings.best_seconds(), 1);
}

TEST(Disturbed, AGainIsMeasuredAgainstItsLike) {
  Standings standings;
  const auto add = [&](double seconds, bool disturbed) {
    db::TrialRow row;
    row.config = "c" + std::to_string(seconds), row.status = "ok", row.seconds = seconds, row.times = {seconds},
    row.disturbed = disturbed;
    standings.add(row);
    return standings.since_gain();
  };
  EXPECT_EQ(add(1, false), 0u);
  EXPECT_EQ(add(3, true), 0u);
  EXPECT_EQ(add(2, false), 1u);
  EXPECT_EQ(add(2.5, true), 0u) << "faster than anything else that was disturbed";
  EXPECT_EQ(add(2.75, true), 1u);
}

}  // namespace
}  // namespace hone
