// The help of every program.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "base/help.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// Columns on a terminal, not bytes.
size_t columns(const std::string& line) {
  return static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::set<std::string> flags_of(const std::string& text) {
  std::set<std::string> out;
  std::istringstream in(text);
  for (std::string word; in >> word;)
    if (word.starts_with("--")) out.insert(word.substr(0, word.find_first_of(",=;:`)")));
  return out;
}

class Program : public testing::TestWithParam<const char*> {
 protected:
  Ran run(const std::string& words) const { return shell(kBin + "/" + GetParam() + " " + words); }
};
INSTANTIATE_TEST_SUITE_P(All, Program, testing::Values("tensorc", "tuner", "tophub", "tracker", "device-agent"),
                         [](const auto& info) {
                           std::string name = info.param;
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

TEST_P(Program, BeginsWithAnExampleAndFitsOneScreen) {
  for (const char* words : {"--help", "-h"}) {
    const Ran help = run(words);
    EXPECT_EQ(help.code, 0) << help.output;
    EXPECT_THAT(help.output, StartsWith(std::string("Example: ") + GetParam()));
    const std::vector<std::string> lines = lines_of(help.output);
    EXPECT_LE(lines.size(), kHelpLines) << help.output;
    for (const std::string& line : lines) EXPECT_LE(columns(line), kHelpColumns) << line;
  }
}

TEST_P(Program, AllHasEveryFlagAndNoWiderLines) {
  const Ran screen = run("--help"), all = run("--help all");
  EXPECT_EQ(all.code, 0) << all.output;
  const std::set<std::string> every = flags_of(all.output);
  for (const std::string& flag : flags_of(screen.output)) EXPECT_TRUE(every.contains(flag)) << flag;
  for (const std::string& line : lines_of(all.output)) EXPECT_LE(columns(line), kHelpColumns) << line;
}

TEST_P(Program, SaysItsVersionInALine) {
  const Ran version = run("--version");
  EXPECT_EQ(version.code, 0) << version.output;
  const bool knows_llvm = GetParam() != std::string("tracker") && GetParam() != std::string("device-agent");
  EXPECT_THAT(version.output,
              MatchesRegex(std::string(GetParam()) + " [0-9]+\\.[0-9]+\\.[0-9]+ \\(commit ([0-9a-f]{7,}|unknown)\\)" +
                           (knows_llvm ? ", LLVM [0-9.]+, this machine: llvm -mtriple=.* -mcpu=.*\n" : "\n")));
  EXPECT_EQ(run("--version 2>/dev/null").output, version.output) << "it is what was asked for, on stdout";
  EXPECT_THAT(run("--help all").output, HasSubstr("--version"));
}

// By the script that builds run.
TEST(Version, HasTheCommitOfAWorkTreeOrNone) {
  const TemporaryFolder folder;
  const auto said = [&] {
    const Ran ran = shell("cd " + folder.path() +
                          " && cmake -DOUTPUT=commit.cc -DSOURCE=. -DGIT=git -P " HONE_SOURCE_DIR
                          "/cmake/WriteCommit.cmake && grep return commit.cc");
    EXPECT_EQ(ran.code, 0) << ran.output;
    return ran.output;
  };
  EXPECT_THAT(said(), HasSubstr("return \"unknown\";"));
  const Ran made = shell("cd " + folder.path() +
                         " && git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && "
                         "git rev-parse --short=7 HEAD");
  if (made.code != 0) GTEST_SKIP() << "no git: " << made.output;
  EXPECT_THAT(said(), HasSubstr("return \"" + made.output.substr(0, made.output.find('\n')) + "\";"));
  const auto before = std::filesystem::last_write_time(folder.path() + "/commit.cc");
  said();
  EXPECT_EQ(std::filesystem::last_write_time(folder.path() + "/commit.cc"), before) << "nothing is compiled anew";
}

TEST(Help, OfCommandsFitsOneScreenToo) {
  for (const char* command :
       {"tensorc run", "tracker init-tls", "tracker status", "tracker drain", "tophub best", "tophub import"})
    for (const char* words : {" --help", " --help all"}) {
      const Ran help = shell(kBin + "/" + command + words);
      EXPECT_EQ(help.code, 0) << help.output;
      EXPECT_LE(lines_of(help.output).size(), kHelpLines) << help.output;
      for (const std::string& line : lines_of(help.output)) EXPECT_LE(columns(line), kHelpColumns) << line;
    }
}

TEST(Help, AllHasWhatTheScreenLeavesOut) {
  for (const auto& [program, flag] : {std::pair("tensorc", "--accumulate"),
                                      {"tuner", "--min-repeat-ms"},
                                      {"tracker", "--max-peer-connections"},
                                      {"device-agent", "--allow-fake"}}) {
    EXPECT_THAT(shell(kBin + "/" + program + " --help").output, testing::Not(HasSubstr(flag)));
    EXPECT_THAT(shell(kBin + "/" + program + " --help all").output, HasSubstr(flag));
  }
}

TEST(Flags, AreNamedWhereTheyAreNearlyRight) {
  for (const auto& [words, meant] : {std::pair("tensorc m.onnx --shapes x=1", "--shape"),
                                     {"tuner m.onnx --thread 2", "--threads"},
                                     {"tophub best --taks dense", "--task"},
                                     {"tracker status --trakcer x", "--tracker"},
                                     {"device-agent --names x", "--name"}}) {
    const Ran refused = shell(kBin + "/" + words);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.output, HasSubstr(std::string("; did you mean ") + meant + "? (--help shows")) << words;
    EXPECT_EQ(lines_of(refused.output).size(), 1u) << refused.output;
  }
}

TEST(Tuner, TakesItsModelAsAWord) {
  const TemporaryFolder folder;
  const std::string model = folder.path() + "/m.onnx", tuner = kBin + "/tuner ";
  SmallModel().write(model);
  const Ran word = shell(tuner + model + " --print-tasks"), flag = shell(tuner + "--model " + model + " --print-tasks");
  EXPECT_EQ(word.code, 0) << word.output;
  EXPECT_EQ(word.output, flag.output);
  const Ran both = shell(tuner + model + " --model " + model);
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.output, HasSubstr("a model is given once"));
}

// Before anything is read or compiled.
TEST(Output, ThatCannotBeWrittenIsOneLine) {
  const TemporaryFolder folder;
  const std::string model = folder.path() + "/m.onnx", file = folder.path() + "/file", none = folder.path() + "/none";
  SmallModel().write(model);
  std::ofstream(file) << "text";
  for (const std::string& command : {"tensorc " + model, std::string("tensorc --task dense --emit so"),
                                     std::string("tensorc --task dense --emit asm")})
    for (const auto& [path, why] : {std::pair(none + "/m.so", "there is no folder " + none),
                                    {file + "/m.so", "there is no folder " + file},
                                    {folder.path(), "Is a directory"}}) {
      const Ran refused = shell(kBin + "/" + command + " -o " + path);
      EXPECT_EQ(refused.code, 2) << command;
      EXPECT_EQ(refused.output, "tensorc: " + path + " cannot be written: " + why + "\n") << command;
    }
}

TEST(Target, OfACpuAloneIsOfThisMachinesArchitecture) {
  const auto target = [](const std::string& cpu) {
    return shell(kBin + "/tensorc --task dense --config default --emit asm -o /dev/null --target 'llvm -mcpu=" + cpu +
                 "'");
  };
  const Ran unknown = target("nosuch"), generic = target("generic");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("-mcpu=nosuch needs -mtriple"));
  EXPECT_EQ(generic.code, 0) << generic.output;
}

TEST(Help, ABareCallSaysHowInTenLines) {
  for (const char* program : {"tensorc", "tuner"}) {
    const Ran bare = shell(kBin + "/" + program);
    EXPECT_EQ(bare.code, 2);
    const std::vector<std::string> lines = lines_of(bare.output);
    EXPECT_LE(lines.size(), 10u) << bare.output;
    EXPECT_GE(lines.size(), 5u) << bare.output;
    for (const std::string& line : lines) EXPECT_LE(columns(line), kHelpColumns) << line;
    EXPECT_THAT(bare.output, HasSubstr(std::string(program) + " --help: its flags"));
    EXPECT_EQ(shell("(" + kBin + "/" + program + " >/dev/null)").output, bare.output) << "it is an error, on stderr";
  }
}

}  // namespace
}  // namespace hone
