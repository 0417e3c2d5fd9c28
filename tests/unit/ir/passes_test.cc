#include "compiler/ir/passes.h"

#include <gmock/gmock.h>

namespace hone {
namespace {

std::vector<Pass<std::string>> letters() {
  return {{"a", [](const std::string& s) { return s + "a"; }},
          {"b", [](const std::string& s) { return s + "b"; }, /*is_needed=*/true},
          {"c", [](const std::string& s) { return s + "c"; }}};
}

TEST(Passes, RunInOrderAndAreWatched) {
  std::vector<std::string> seen;
  PassHooks<std::string> hooks;
  hooks.after = [&](std::string_view pass, const std::string& program, double seconds) {
    EXPECT_GE(seconds, 0);
    seen.push_back(std::string(pass) + ":" + program);
  };
  EXPECT_EQ(run_passes(letters(), std::string("_"), hooks), "_abc");
  EXPECT_THAT(seen, testing::ElementsAre("a:_a", "b:_ab", "c:_abc"));
  EXPECT_EQ(names_of(letters()), "a, b, c");
}

TEST(Passes, AreLeftOutUnlessOthersRelyOnThem) {
  PassHooks<std::string> hooks;
  hooks.left_out = {"a", "c"};
  EXPECT_EQ(run_passes(letters(), std::string("_"), hooks), "_b");
  hooks.left_out = {"b"};
  try {
    run_passes(letters(), std::string("_"), hooks);
    FAIL() << "it was left out";
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(), "pass 'b' cannot be left out: what follows relies on it");
  }
}

TEST(Passes, ABrokenOneIsNamedWithWhatItWasGiven) {
  std::vector<Pass<std::string>> passes = letters();
  passes[1].run = [](const std::string&) -> std::string { throw InternalError("x != y"); };
  std::string given;
  PassHooks<std::string> hooks;
  hooks.on_failure = [&](std::string_view pass, const std::string& program) {
    given = std::string(pass) + ":" + program;
  };
  try {
    run_passes(passes, std::string("_"), hooks);
    FAIL() << "it failed";
  } catch (const InternalError& e) {
    EXPECT_STREQ(e.what(), "x != y (in pass 'b')");
  }
  EXPECT_EQ(given, "b:_a");
}

}  // namespace
}  // namespace hone
