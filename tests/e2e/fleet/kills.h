// SIGKILL of a tuner at random moments, resumed again and again until it is done.
#pragma once

#include <csignal>
#include <iostream>
#include <random>
#include <set>
#include <thread>

#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {

class Kills : public Workplace {
 protected:
  /// Kills `command`, which asks for more trials than there is time for, `times` times, each time at a random moment of
  /// its first `seconds`; then lets it measure 40 more to its end. No stored trial may be lost, and no config stored
  /// twice: trials that are repeated were in flight and not stored.
  void kill_and_resume(const Words& command, int times, double seconds, uint64_t seed) {
    std::mt19937_64 rng(seed);
    std::set<std::string> kept;
    for (int k = 0; k < times; ++k) {
      const double moment = seconds * static_cast<double>(rng() >> 11) * 0x1.0p-53;
      Program tuner = start(with_trials(command, 50'000));
      std::this_thread::sleep_for(std::chrono::duration<double>(moment));
      ASSERT_TRUE(tuner.running()) << "done before kill " << k << " at " << moment << " s: " << tuner.err();
      tuner.signal(SIGKILL);
      EXPECT_EQ(tuner.wait(), 128 + SIGKILL);
      EXPECT_TRUE(eventually([&] { return processes().empty(); })) << testing::PrintToString(processes());
      expect_kept(&kept);
      std::cout << "kill " << k + 1 << " after " << moment << " s: " << kept.size() << " trials stored\n";
    }
    const int64_t trials = static_cast<int64_t>(kept.size()) + 40;
    const Output resumed = run(with_trials(command, trials));
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    expect_kept(&kept);
    EXPECT_EQ(resumed.json()["trials"], trials);
    const Stored s = stored(db_);
    EXPECT_EQ(s.trials, trials);
    EXPECT_EQ(s.configs, trials) << "no config is stored twice";
    EXPECT_EQ(s.failed, 0);
    const Output check = run({"tophub", "check"});
    EXPECT_EQ(check.code, 0) << check.out << check.err;
    EXPECT_TRUE(nothing_left({})) << "the next run removes what the killed ones could not: "
                                  << testing::PrintToString(temporary_files());
  }

 private:
  static Words with_trials(Words command, int64_t trials) {
    command.insert(command.end(), {"--trials", std::to_string(trials)});
    return command;
  }
  /// All trials stored before are still there, and each config once.
  void expect_kept(std::set<std::string>* kept) {
    const std::vector<std::string> now = trial_names(db_);
    const std::set<std::string> distinct(now.begin(), now.end());
    EXPECT_EQ(distinct.size(), now.size()) << "a config was stored twice";
    for (const std::string& trial : *kept) EXPECT_EQ(distinct.count(trial), 1u) << trial << " was lost";
    *kept = distinct;
  }
};

}  // namespace hone::e2e
