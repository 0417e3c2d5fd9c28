// Commands that tuner suggests next have all that says what was tuned, how and where.
#include "tuner/cli/next_commands.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "base/cli.h"
#include "compiler/cli/tensorc_flags.h"
#include "tests/fakes/workloads.h"
#include "tuner/cli/fleet_flags.h"
#include "tuner/cli/tuner_flags.h"

namespace hone {
namespace {

using testing::HasSubstr;

// A value that a flag takes, and that is not the usual one.
std::string value_of(const std::string& flag) {
  if (flag == "--search") return "random";
  if (flag == "--warm-start") return "off";
  if (flag == "--accumulate") return "f16";
  if (flag == "--denormals") return "keep";
  if (flag == "--optimize") return "2";
  if (flag == "--label" || flag == "--bind" || flag == "--shape") return "k=1|2";
  if (flag == "--bind-data" || flag == "--cache" || flag == "--replace") return "k=7";
  if (flag == "--input") return "k=u8";
  return "7";
}

struct NextCommands : testing::Test {
  const OperatorTable operators = standard_operators();
  TunerFlags f;
  CommandLine line;

  NextCommands() { add_tuner_flags(line, operators, f); }

  // Gives every flag but these.
  std::vector<std::string> give_all_but(const std::set<std::string>& none) {
    std::vector<std::string> words, flags;
    for (const Flag& each : line.flags()) {
      const std::string flag = each.name();
      if (!flag.starts_with("--") || flag == "--help" || none.contains(flag)) continue;
      flags.push_back(flag);
      words.push_back(each.takes_value() ? flag + "=" + value_of(flag) : flag);
    }
    EXPECT_EQ(run_command(line, words, [] { return absl::OkStatus(); }).text, "");
    return flags;
  }
};

// Flags of operators' tuning, and flags that only print.
const std::set<std::string> kNotOfModels = {"--task", "--args",        "--workload",   "--tasks",
                                            "--list", "--print-tasks", "--from-tophub"};

TEST_F(NextCommands, ToGoOnHasEveryFlagButFresh) {
  const std::vector<std::string> given = give_all_but(kNotOfModels);
  EXPECT_GT(given.size(), 30u);
  const std::string command = resume_command(f);
  for (const std::string& flag : given)
    EXPECT_EQ((command + " ").find(" " + flag + " ") != std::string::npos, flag != "--fresh")
        << flag << ": " << command;
}

TEST_F(NextCommands, ToGoOnHasNothingThatIsUsual) {
  f.model = "a model.onnx", f.seconds = 0.5;
  EXPECT_EQ(resume_command(f), "tuner --model 'a model.onnx' --seconds 0.5");
}

TEST_F(NextCommands, ToBuildAModelHasWhatTensorcTakes) {
  std::vector<std::string> given = give_all_but(kNotOfModels);
  const std::string command = model_build_command(f);
  TensorcOptions options;
  TunerFlags fleet;
  CommandLine tensorc;
  add_tensorc_flags(tensorc, operators, options);
  add_fleet_flags(tensorc, fleet, "");
  size_t shared = 0;
  for (const std::string& flag : given) {
    // --ranges is a file to write there; --json is of --bench.
    if (!tensorc.find_flag(flag) || flag == "--model" || flag == "--ranges" || flag == "--json") continue;
    ++shared;
    EXPECT_THAT(command + " ", HasSubstr(" " + flag + " ")) << command;
  }
  EXPECT_GT(shared, 15u);
  EXPECT_THAT(command, HasSubstr("tensorc 7 --calibrate 7 "));
}

TEST_F(NextCommands, ToSendWhatWaitsHasTheCredentials) {
  f.credentials.token = "a token", f.credentials.ca = "ca.pem";
  EXPECT_EQ(sync_command(f, "https://lab:9200", "own.db"),
            "tophub sync --tophub https://lab:9200 --tls-ca ca.pem --token-file 'a token' --db own.db");
}

TEST_F(NextCommands, ToBuildAnOperatorAreOfThePlaceWhereItWasTuned) {
  f.workload = "dense(m=8,n=32,k=48,epilogue=bias+relu)", f.threads = 1, f.db = "it's.db", f.tracker = "lab:9190";
  EXPECT_EQ(operator_build_command(f, parse_workload(f.workload)),
            "tensorc --task dense --args m=8,n=32,k=48,dtype=f32,epilogue=bias+relu --target llvm --tracker lab:9190 "
            "--threads 1 --db 'it'\\''s.db' --bench");
}

}  // namespace
}  // namespace hone
