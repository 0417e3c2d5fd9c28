#include "base/cli.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/check.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Runs a program's command line, with std::cout and std::cerr caught.
class Program : public testing::Test {
 protected:
  Program() : out_before_(std::cout.rdbuf(out_.rdbuf())), err_before_(std::cerr.rdbuf(err_.rdbuf())) {}
  ~Program() override {
    std::cout.rdbuf(out_before_);
    std::cerr.rdbuf(err_before_);
  }

  int run(const std::vector<std::string>& words, const std::function<Status()>& body) {
    CommandLine line("A program.", "program");
    line.add_option("--name", name_);
    std::vector<const char*> argv{"program"};
    for (const std::string& w : words) argv.push_back(w.c_str());
    return run_cli(line, static_cast<int>(argv.size()), argv.data(), body);
  }

  std::ostringstream out_, err_;
  std::streambuf *const out_before_, *const err_before_;
  std::string name_;
};

Status done() { return absl::OkStatus(); }

TEST_F(Program, ItsStreamsAreClean) {
  EXPECT_EQ(run({},
                [] {
                  std::cout << "node \x1b[31m\xff\n";
                  std::cerr << "assumed: \x1b]0;x\x07 = 1\n";
                  return usage_error("no \x1b[0m");
                }),
            kExitUsage);
  EXPECT_EQ(out_.str(), "node  [31m?\n");
  EXPECT_EQ(err_.str(), "assumed:  ]0;x  = 1\nprogram: no  [0m\n");
}

TEST_F(Program, ErrorsAreCut) {
  const std::string wide(1 << 20, 'x');
  run({}, [&]() -> Status { throw UserError("it is " + wide); });
  EXPECT_LT(err_.str().size(), 1100u);
  EXPECT_THAT(err_.str(), AllOf(StartsWith("program: it is xxx"), EndsWith("x…\n")));
  err_.str("");
  run({}, [&] { return usage_error("a\n" + wide + "\nb"); });
  EXPECT_THAT(err_.str(), AllOf(StartsWith("program: a\nprogram: xxx"), EndsWith("x…\nprogram: b\n")));
  err_.str("");
  std::string lines;
  for (int i = 0; i < 100000; ++i) lines += "line\n";
  run({}, [&] { return usage_error(lines); });
  const std::string told = err_.str();
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 201);
  err_.str("");
  EXPECT_EQ(run({}, [&]() -> Status { throw InternalError(wide); }), kExitInternal);
  EXPECT_THAT(err_.str(), EndsWith("x…; this is a bug: please report the command line and this text\n"));
  err_.str("");
  EXPECT_EQ(run({"--" + wide}, &done), kExitUsage);
  EXPECT_LT(err_.str().size(), 1200u);
}

TEST_F(Program, FlagsComeFromPlainSmallFilesAlone) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return folder.path() + "/" + name; };
  std::ofstream(path("flags.toml")) << "name = \"given\"\n";
  for (const char* flag : {"--flags-file", "--config"}) {
    name_ = "";
    EXPECT_EQ(run({flag, path("flags.toml")}, &done), kExitDone);
    EXPECT_EQ(name_, "given") << flag;
  }
  const auto refusal = [&](const std::string& file) {
    err_.str("");
    EXPECT_EQ(run({"--flags-file", file}, &done), kExitUsage);
    return err_.str();
  };
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);  // nobody writes to it
  EXPECT_THAT(refusal(path("pipe")), HasSubstr("it is a pipe, not a plain file"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("it is a device, not a plain file"));
  EXPECT_THAT(refusal(path("none")), HasSubstr("No such file"));
  std::ofstream(path("large")) << "";
  ASSERT_EQ(truncate(path("large").c_str(), off_t{1} << 42), 0);
  EXPECT_THAT(refusal(path("large")), HasSubstr("it is larger than 1 MiB"));
}

TEST_F(Program, HelpNamesTheFileOfFlagsByOneName) {
  run({"--help", "all"}, &done);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("--flags-file FILE"), testing::Not(HasSubstr("--config"))));
}

// A program whose --config is something else.
TEST(FlagsFile, LeavesConfigToWhoHasOne) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/flags.toml";
  std::ofstream(file) << "size = 3\n";
  for (const char* flag : {"--flags-file", "--config-file"}) {
    CommandLine line("A program.", "program");
    std::string config;
    int size = 0;
    line.add_option("--config", config);
    line.add_option("--size", size);
    const char* const argv[] = {"program", "--config", "tile=4", flag, file.c_str()};
    EXPECT_EQ(run_command(line, 5, argv, &done).code, kExitDone);
    EXPECT_EQ(config, "tile=4");
    EXPECT_EQ(size, 3);
    EXPECT_EQ(flags_file(line), file);
  }
}

// The error for words that a program with commands does not know.
std::string refusal(const std::vector<const char*>& words) {
  CommandLine line("A program.", "program");
  std::string text;
  line.add_option("--threads", text);
  line.add_option("--trials", text);
  line.add_option("--sensors", text).hide();
  CommandLine& status = line.add_command("status", "");
  status.add_option("--tracker", text);
  line.add_command("drain", "");
  std::vector<const char*> argv{"program"};
  argv.insert(argv.end(), words.begin(), words.end());
  const CommandEnd end = run_command(line, static_cast<int>(argv.size()), argv.data(), &done);
  EXPECT_EQ(end.code, kExitUsage);
  return end.text;
}

TEST(UnknownWords, AreAnsweredWithWhatIsNear) {
  const std::string allowed = " (--help shows what is allowed)";
  EXPECT_EQ(refusal({"--thread", "2"}), "there is no flag --thread; did you mean --threads?" + allowed);
  EXPECT_EQ(refusal({"--thraeds=2"}), "there is no flag --thraeds; did you mean --threads?" + allowed);
  EXPECT_EQ(refusal({"-trials", "9"}), "there is no flag -trials; did you mean --trials?" + allowed);
  EXPECT_EQ(refusal({"status", "--traker", "x"}), "there is no flag --traker; did you mean --tracker?" + allowed);
  EXPECT_EQ(refusal({"status", "--trials", "9"}),
            "--trials belongs to the program alone; the command status does not take it" + allowed);
  EXPECT_EQ(refusal({"--tracker", "x", "status"}),
            "--tracker is a flag of the command status; give it after that word" + allowed);
  EXPECT_EQ(refusal({"--verbose"}), "there is no flag --verbose" + allowed);
  EXPECT_EQ(refusal({"--sensor", "x"}), "there is no flag --sensor" + allowed) << "of flags for tests nothing is said";
  EXPECT_EQ(refusal({"statsu"}), "there is no command statsu; did you mean status?" + allowed);
  EXPECT_EQ(refusal({"status", "now"}), "unexpected word 'now'" + allowed);
}

// A flag of the program is not for its command, and is not ignored.
TEST(Commands, RefuseFlagsBeforeThem) {
  const std::string allowed = " (--help shows what is allowed)";
  EXPECT_EQ(refusal({"--trials", "9", "drain"}),
            "--trials belongs to the program alone; the command drain does not take it" + allowed);
  EXPECT_EQ(refusal({"--trials=9", "drain"}),
            "--trials belongs to the program alone; the command drain does not take it" + allowed);
  CommandLine line("A program.", "program");
  bool insecure = false;
  line.add_flag("--insecure", insecure);
  line.add_command("status", "").add_flag("--insecure", insecure);
  const char* const before[] = {"program", "--insecure", "status"};
  EXPECT_EQ(run_command(line, 3, before, &done).text,
            "--insecure is a flag of the command status; give it after that word" + allowed);
  const char* const behind[] = {"program", "status", "--insecure"};
  EXPECT_EQ(run_command(line, 3, behind, &done).code, kExitDone);
}

TEST(Numbers, AreRefusedWithWhatWasGivenAndWhatIsAllowed) {
  const std::string allowed = " (--help shows what is allowed)";
  const auto refused = [](const char* flag, const char* value) {
    CommandLine line("A program.", "program");
    int threads = 0, seed = 0;
    double seconds = 0;
    line.add_option("--threads", threads).check(number_from(1, 1024));
    line.add_option("--seconds", seconds).check(number_from(0.5, 1e9));
    line.add_option("--seed", seed);
    const char* const argv[] = {"program", flag, value};
    return run_command(line, 3, argv, &done).text;
  };
  for (const char* bad : {"x", "0", "1025", "1.5", "-3"})
    EXPECT_EQ(refused("--threads", bad),
              std::string("--threads: '") + bad + "' is not a whole number from 1 to 1024" + allowed);
  EXPECT_EQ(refused("--seconds", "x"), "--seconds: 'x' is not a number from 0.5 to 1000000000" + allowed);
  EXPECT_EQ(refused("--seed", "x"), "--seed: 'x' is not a number that it takes" + allowed);
  for (const char* good : {"1", "1024"}) EXPECT_EQ(refused("--threads", good), "");
  EXPECT_EQ(refused("--seconds", "0.75"), "");
}

// A program that takes a word and has a command, too: the word may be anything.
TEST(UnknownWords, BehindAWordAreNoCommands) {
  CommandLine line("A program.", "program");
  std::string model;
  line.add_option("model", model);
  line.add_command("run", "");
  const char* const argv[] = {"program", "a.onnx", "b.onnx"};
  EXPECT_EQ(run_command(line, 3, argv, &done).text, "unexpected word 'b.onnx' (--help shows what is allowed)");
}

}  // namespace
}  // namespace hone
