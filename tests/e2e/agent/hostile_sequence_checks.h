// Conditions that must hold after a hostile sequence of any length.
#pragma once

#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/cpus.h"
#include "rpc/agent/sandbox/sandbox.h"
#include "tests/e2e/agent/hostile_sequence.h"

namespace hone::agent {

/// On a busy machine times differ by themselves: a ratio beyond the bound counts only when two more, shorter sequences
/// say the same.
inline constexpr double kTimeBound = 1.15;

inline double typical_ratio(const SequenceReport& r) {
  std::vector<double> ratios = r.ratios;
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
  return ratios[ratios.size() / 2];
}

inline SequenceReport run_in_a_folder(const SequenceOptions& options) {
  std::string dir = ::testing::TempDir() + "hone-hostile-XXXXXX";
  dir = mkdtemp(dir.data());
  SequenceReport report = run_hostile_sequence(dir, options);
  std::filesystem::remove_all(dir);
  std::cout << to_text(report) << std::flush;
  return report;
}

inline void expect_unharmed(const SequenceOptions& options) {
  if (kSanitizer) GTEST_SKIP() << "instrumented by a sanitizer, which answers memory errors itself";
  const SequenceReport r = run_in_a_folder(options);
  EXPECT_THAT(r.wrong, ::testing::IsEmpty()) << r.log;
  EXPECT_EQ(r.answered.size(), 8U);
  for (const auto& [kind, n] : r.answered) EXPECT_EQ(n, options.each) << kind;
  EXPECT_GE(r.good, 8 * options.each);
  EXPECT_TRUE(r.same_runner) << "a candidate took the runner with it: " << r.log;
  EXPECT_THAT(r.scratch_after, ::testing::IsEmpty());
  // A builder for each core and the runner; an eventful life leaves no descriptors behind. A builder that is just being
  // replaced counts twice for a moment.
  EXPECT_LE(r.after.children, static_cast<int>(usable_cpus().size()) + 2);
  EXPECT_LE(r.after.descriptors, r.before.descriptors + 4);
  // It keeps up to 128 MiB of modules.
  EXPECT_LE(r.after.resident_bytes, r.before.resident_bytes + (int64_t{160} << 20));
  EXPECT_EQ(r.exit_code, 0) << r.log;
  EXPECT_TRUE(r.folder_removed);
  EXPECT_EQ(r.survivors, 0);
  ASSERT_FALSE(r.ratios.empty());
  double ratio = typical_ratio(r);
  for (int again = 0; again < 2 && ratio > kTimeBound; ++again)
    ratio = std::min(ratio, typical_ratio(run_in_a_folder({.each = 10, .builder_kills = 0})));
  EXPECT_LE(ratio, kTimeBound) << "good candidates are slower between hostile ones";
}

}  // namespace hone::agent
