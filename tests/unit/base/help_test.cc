#include "base/help.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "base/cli.h"

namespace hone {
namespace {

using testing::HasSubstr;

struct HelpProgram {
  CommandLine line{"", "mill"};
  std::string grain;
  bool fine = false;

  HelpProgram() {
    line.add_option("--grain", grain,
                    "what it grinds: " + std::string(200, 'x') + " or another " + std::string(60, 'y'));
    line.add_flag("--fine", fine, "twice");
  }
  Help help() const {
    return {.does = "Grinds.",
            .details = "Slowly.",
            .examples = {{"mill --grain rye", "flour"}},
            .groups = {{"Grain", {{"--grain KIND", "what it grinds"}}, {}}, {"Speed", {}, {"--fine"}}},
            .wants_words = true};
  }
  CommandEnd run(std::vector<const char*> words) {
    words.insert(words.begin(), "mill");
    return run_command(line, static_cast<int>(words.size()), words.data(), [] { return absl::OkStatus(); });
  }
};

TEST(Help, IsAScreenWithAnExampleFirst) {
  HelpProgram p;
  set_help(p.line, p.help());
  EXPECT_EQ(p.run({"--help"}).text, R"(Example: mill --grain rye
Grinds.
mill --help all: every flag
Grain
  --grain KIND               what it grinds
)");
}

TEST(Help, AllIsEveryFlagInItsGroupWrapped) {
  HelpProgram p;
  set_help(p.line, p.help());
  const CommandEnd end = p.run({"--help", "all"});
  EXPECT_EQ(end.code, kExitDone);
  EXPECT_THAT(end.text,
              testing::StartsWith("Example: mill --grain rye\nGrinds.\nmill --help all: every flag\nSlowly."));
  EXPECT_THAT(end.text, testing::ContainsRegex("Grain:\n  --grain TEXT"));
  EXPECT_THAT(end.text, testing::ContainsRegex("Speed:\n  --fine"));
  EXPECT_THAT(end.text, HasSubstr("xx\n")) << "a word that is longer than a line has one of its own";
  EXPECT_THAT(end.text, HasSubstr("or another\n" + std::string(30, ' ') + "yy"))
      << "what would pass the edge begins anew";
}

TEST(Help, AFlagThatThereIsNotIsABug) {
  HelpProgram p;
  Help wrong = p.help();
  wrong.groups[0].others = {"--coarse"};
  EXPECT_THROW(set_help(p.line, wrong), InternalError);
}

TEST(Help, OfNoWordsIsForProgramsThatWantSome) {
  HelpProgram p;
  set_help(p.line, p.help());
  EXPECT_EQ(bare_help(p.line, 1),
            "Grinds.\n  mill --grain rye                                         flour\n"
            "mill --help: its flags; mill --help all: every flag\n");
  EXPECT_EQ(bare_help(p.line, 2), "");
  Help wants_none = p.help();
  wants_none.wants_words = false;
  set_help(p.line, wants_none);
  EXPECT_EQ(bare_help(p.line, 1), "");
}

TEST(Help, AllBehindOtherWordsIsNoRequest) {
  HelpProgram p;
  set_help(p.line, p.help());
  EXPECT_EQ(p.run({"--grain", "all"}).text, "");
  EXPECT_EQ(p.grain, "all");
  EXPECT_THAT(p.run({"--fine", "--help"}).text, testing::Not(HasSubstr("--fine")));
}

}  // namespace
}  // namespace hone
