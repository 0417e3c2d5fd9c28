#include "base/command_line.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/check.h"
#include "base/cli.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

// The text that a command with these words ends with.
std::string told(CommandLine& line, const Words& words) {
  return run_command(line, words, [] { return absl::OkStatus(); }).text;
}

TEST(CommandLine, FillsValuesOfEveryType) {
  CommandLine line("", "mill");
  std::string text, word;
  int whole = 0;
  uint16_t port = 0;
  uint32_t count = 0;
  int64_t large = 0;
  uint64_t seed = 0;
  double share = 0;
  bool is_fine = false, is_coarse = false;
  Words texts, parsed;
  std::vector<int> wholes;
  std::vector<uint64_t> sizes;
  line.add_option("--text", text);
  line.add_option("--whole", whole);
  line.add_option("--port", port);
  line.add_option("--count", count);
  line.add_option("--large", large);
  line.add_option("--seed", seed);
  line.add_option("--share", share);
  line.add_flag("--fine", is_fine);
  line.add_flag("--coarse", is_coarse);
  line.add_option("--texts", texts).one_value_each();
  line.add_option("--wholes", wholes).delimiter(',');
  line.add_option("--sizes", sizes);
  line.add_option_function(
          "--parsed", [&](const Words& all) { parsed = all; }, "")
      .one_value_each();
  line.add_option_function(
      "--word", [&](const std::string& one) { word = one; }, "");
  EXPECT_EQ(told(line, {"--text",
                        "a b",
                        "--whole=-3",
                        "--port",
                        "9190",
                        "--count",
                        "4",
                        "--large",
                        "-5000000000",
                        "--seed",
                        "18446744073709551615",
                        "--share",
                        "0.25",
                        "--fine",
                        "--texts",
                        "x",
                        "--texts",
                        "y",
                        "--wholes",
                        "1,-2",
                        "--sizes",
                        "3",
                        "4",
                        "--parsed",
                        "p",
                        "--parsed",
                        "q",
                        "--word",
                        "w"}),
            "");
  EXPECT_EQ(text, "a b");
  EXPECT_EQ(whole, -3);
  EXPECT_EQ(port, 9190);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(large, -5000000000);
  EXPECT_EQ(seed, ~uint64_t{0});
  EXPECT_EQ(share, 0.25);
  EXPECT_TRUE(is_fine);
  EXPECT_FALSE(is_coarse);
  EXPECT_THAT(texts, ElementsAre("x", "y"));
  EXPECT_THAT(wholes, ElementsAre(1, -2));
  EXPECT_THAT(sizes, ElementsAre(3, 4));
  EXPECT_THAT(parsed, ElementsAre("p", "q"));
  EXPECT_EQ(word, "w");
}

TEST(CommandLine, AsksAtTheEndWhetherFlagsGoTogether) {
  const auto refused = [](const Words& words) {
    CommandLine line;
    bool fine = false, coarse = false;
    line.add_flag("--fine", fine);
    line.add_flag("--coarse", coarse);
    line.refuse_if([&] { return fine && coarse ? "--fine is not --coarse" : ""; });
    return told(line, words);
  };
  EXPECT_EQ(refused({"--coarse", "--fine"}), "--fine is not --coarse (--help shows what is allowed)");
  EXPECT_EQ(refused({"--fine"}), "");
}

TEST(CommandLine, KnowsItsFlags) {
  CommandLine line;
  std::string text;
  bool fine = false;
  line.add_option("-o,--output,--out", text);
  line.add_option("GRAIN", text);
  line.add_flag("--fine", fine).hide();
  std::vector<std::string> names;
  for (const Flag& flag : line.flags()) names.push_back(flag.name());
  EXPECT_THAT(names, ElementsAre("--help", "--output", "GRAIN", ""));
  EXPECT_THAT(line.flag("-o").long_names(), ElementsAre("output", "out"));
  EXPECT_TRUE(line.flag("--out").takes_value());
  EXPECT_FALSE(line.flag("--out").is_hidden());
  EXPECT_FALSE(line.flag("--fine").takes_value());
  EXPECT_TRUE(line.flag("--fine").is_hidden());
  EXPECT_FALSE(line.find_flag("--coarse"));
  EXPECT_THROW(line.flag("--coarse"), InternalError);
  line.flag("GRAIN").add_result("rye");
  EXPECT_EQ(told(line, {"--fine"}), "");
  EXPECT_EQ(text, "rye");
  EXPECT_EQ(line.flag("--fine").count(), 1u);
  EXPECT_EQ(line.flag("-o").count(), 0u);
}

TEST(CommandLine, SaysWhichCommandWasGiven) {
  const auto given = [](const Words& words) -> std::string {
    CommandLine line;
    CommandLine& grind = line.add_command("grind", "");
    CommandLine& stop = line.add_command("stop", "");
    EXPECT_EQ(line.find_command("stop"), &stop);
    EXPECT_EQ(line.find_command("start"), nullptr);
    EXPECT_EQ(stop.parent(), &line);
    EXPECT_EQ(line.parent(), nullptr);
    EXPECT_EQ(told(line, words), "");
    return !line.command() ? "none" : line.command() == &grind ? "grind" : line.command()->name();
  };
  EXPECT_EQ(given({}), "none");
  EXPECT_EQ(given({"grind"}), "grind");
  EXPECT_EQ(given({"stop"}), "stop");
  CommandLine line;
  line.add_command("grind", "");
  line.add_command("stop", "");
  EXPECT_EQ(told(line, {"grind", "stop"}), "unexpected word 'stop' (--help shows what is allowed)");
}

TEST(CommandLine, LetsItsFlagsStandBehindCommandsWhereItShould) {
  for (const bool should : {false, true}) {
    CommandLine line;
    bool fine = false;
    if (should) line.fallthrough();
    line.add_flag("--fine", fine);
    line.add_command("grind", "");
    EXPECT_EQ(told(line, {"grind", "--fine"}).empty(), should);
    EXPECT_EQ(fine, should);
  }
}

TEST(Checks, SayWhatIsAllowedAndWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/grain";
  std::ofstream(file) << "rye";
  const auto run = [&](const Words& words) {
    CommandLine line;
    std::string kind, path, pair;
    line.add_option("--kind", kind, "of grain").check(text_from({"rye", "oats"}));
    line.add_option("--file", path).check(existing_file());
    line.add_option("--pair", pair)
        .check({[](const std::string& text) { return text.find('=') == text.npos ? "no k=v" : ""; }, "K=V"});
    return told(line, words);
  };
  EXPECT_EQ(run({"--kind", "wheat"}), "--kind: wheat not in {rye,oats} (--help shows what is allowed)");
  EXPECT_EQ(run({"--kind", "oats"}), "");
  EXPECT_THAT(run({"--file", file + "2"}), HasSubstr("--file: File does not exist: " + file + "2"));
  EXPECT_EQ(run({"--file", file}), "");
  EXPECT_EQ(run({"--pair", "k"}), "--pair: no k=v (--help shows what is allowed)");
  EXPECT_EQ(run({"--pair", "k=v"}), "");
  const std::string help = run({"--help", "all"});
  for (const char* allowed : {"TEXT:{rye,oats}", "TEXT:FILE", "TEXT:K=V"}) EXPECT_THAT(help, HasSubstr(allowed));
}

}  // namespace
}  // namespace hone
