// The answers of `tuner` to bad input, before anything is measured.
#include "tuner/cli/tune.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/check.h"
#include "base/cli.h"
#include "compiler/ops/definition.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/test_model.h"
#include "tests/fakes/workloads.h"
#include "tuner/driver/tasks_file.h"

namespace hone {
namespace {

struct Answer {
  int code = 0;
  std::string line, out;
};

// As run_cli() maps them.
Answer answer_to(const TunerFlags& flags) {
  std::ostringstream out, err;
  Answer a;
  try {
    const Status s = tune(test_operators(), flags, {out, err, false, [] { return 0; }, nullptr});
    a.code = exit_code_of(s);
    a.line = message_of(s);
  } catch (const UserError& e) {
    a.code = kExitUsage;
    a.line = e.what();
  }
  a.out = out.str();
  return a;
}

class Tune : public testing::Test {
 protected:
  Tune() {
    if (!mkdtemp(dir_.data())) throw std::runtime_error("mkdtemp");
    flags_.task = "dense";
    flags_.db = dir_ + "/hub.db";
    flags_.tracker = "unix:" + dir_ + "/nobody";
  }
  ~Tune() override { std::filesystem::remove_all(dir_); }
  void expect(int code, const std::string& part) {
    const Answer a = answer_to(flags_);
    EXPECT_EQ(a.code, code) << a.line;
    EXPECT_NE(a.line.find(part), std::string::npos) << a.line;
    EXPECT_EQ(a.line.find('\n'), std::string::npos) << "one line";
    EXPECT_EQ(a.out, "");
  }
  std::string dir_ = "/tmp/hone-tune-test-XXXXXX";
  TunerFlags flags_;
};

TEST_F(Tune, NeedsATask) {
  flags_.task = "";
  expect(kExitUsage, "--task is missing; known tasks: conv2d");
}

TEST_F(Tune, RefusesAnUnknownTask) {
  flags_.task = "conv9d";
  expect(kExitUsage, "conv9d");
}

TEST_F(Tune, TaskAndWorkloadExcludeEachOther) {
  flags_.workload = "dense(m=1,n=1,k=1)";
  expect(kExitUsage, "exclude each other");
}

TEST_F(Tune, RefusesBadExtents) {
  for (const char* args : {"m=0", "m=-3", "m=x", "m=99999999999999999999", "q=1", "m=1,m=2"}) {
    flags_.args = args;
    SCOPED_TRACE(args);
    EXPECT_EQ(answer_to(flags_).code, kExitUsage);
  }
}

TEST_F(Tune, RefusesAnUnknownTargetKindAndFlag) {
  flags_.target = "gpu";
  expect(kExitUsage, "'gpu'");
  flags_.target = "llvm -speed=high";
  expect(kExitUsage, "-speed");
}

TEST_F(Tune, RefusesAnUnknownSearcher) {
  flags_.search = "bayes";
  expect(kExitUsage, "known: xgb, random, grid, anneal, genetic");
}

TEST_F(Tune, RefusesATrackerThatIsNoAddress) {
  flags_.tracker = "nowhere";
  expect(kExitUsage, "--tracker: ");
}

TEST_F(Tune, RefusesAnUnprotectedTrackerElsewhere) {
  flags_.tracker = "192.0.2.1:9190";
  expect(kExitUsage, "--insecure");
}

TEST_F(Tune, ADeviceNeedsATracker) {
  flags_.tracker = "";
  flags_.device = "board";
  expect(kExitUsage, "--device");
}

TEST_F(Tune, TasksNameTheirWorkloadsThemselves) {
  flags_.tasks = dir_ + "/tasks.txt";
  std::ofstream(flags_.tasks) << "dense\nmax_pool2d\n";
  expect(kExitUsage, "--task, --args and --workload exclude it");
  flags_.task = "", flags_.args = "m=1";
  expect(kExitUsage, "--task, --args and --workload exclude it");
  flags_.args = "", flags_.workload = "dense(m=1)";
  expect(kExitUsage, "--task, --args and --workload exclude it");
  flags_.workload = "", flags_.trials = 1;
  expect(kExitUsage, "--trials: 1 for the 2 tasks of");
}

TEST_F(Tune, AModelNamesItsWorkloadsItself) {
  flags_.model = dir_ + "/m.onnx";
  expect(kExitUsage, "--task, --args, --workload, --tasks and --from-tophub exclude it");
  flags_.task = "", flags_.tasks = "tasks.txt";
  expect(kExitUsage, "--task, --args, --workload, --tasks and --from-tophub exclude it");
  flags_.tasks = "", flags_.workload = "dense(m=1)";
  expect(kExitUsage, "--task, --args, --workload, --tasks and --from-tophub exclude it");
}

TEST_F(Tune, FlagsOfAModelNeedOne) {
  flags_.bind = {bind_choice("batch=1")};
  expect(kExitUsage, "belong to --model");
  flags_.bind = {}, flags_.shapes = {shape_choice("x=1x3")};
  expect(kExitUsage, "belong to --model");
  flags_.shapes = {}, flags_.sums_in_f16 = true;
  expect(kExitUsage, "belong to --model");
  flags_.sums_in_f16 = false, flags_.denormals = Denormals::kKeep;
  expect(kExitUsage, "belong to --model");
  flags_.denormals = {}, flags_.assume_finite = true;
  expect(kExitUsage, "belong to --model");
  flags_.assume_finite = false, flags_.print_tasks = true;
  expect(kExitUsage, "belong to --model");
}

TEST_F(Tune, ZerosForDenormalsAreOfCpus) {
  flags_.task = "";
  flags_.model = dir_ + "/m.onnx";
  flags_.target = "opencl", flags_.denormals = Denormals::kZero;
  expect(kExitUsage, "--denormals zero is for CPUs: opencl keeps denormals");
}

TEST_F(Tune, BadModelsAreSaidBeforeAnythingStarts) {
  flags_.task = "";
  flags_.model = dir_ + "/m.onnx";
  expect(kExitUsage, "m.onnx: No such file");
  std::ofstream(flags_.model) << "no model at all";
  expect(kExitUsage, "not an ONNX file");
  flags_.model = dir_;
  expect(kExitUsage, dir_);
  TestModel named;
  named.input("x", {"batch", 4}).node("Relu", {"x"}, {"y"}).output("y");
  std::ofstream(dir_ + "/n.onnx") << named.model.SerializeAsString();
  flags_.model = dir_ + "/n.onnx";
  flags_.cache = {"n", 3};
  expect(kExitUsage, "no input has a dimension of that name");
  EXPECT_FALSE(std::filesystem::exists(flags_.db));
}

TEST_F(Tune, UnboundDimensionsAreNamed) {
  flags_.task = "";
  flags_.model = dir_ + "/m.onnx";
  TestModel named;
  named.input("x", {1, "length"}).node("Relu", {"x"}, {"y"}).output("y");
  std::ofstream(flags_.model) << named.model.SerializeAsString();
  expect(kExitUsage, "--bind length=N");
}

TEST_F(Tune, PrintsTheTasksOfAModel) {
  flags_.task = "";
  flags_.model = dir_ + "/m.onnx";
  flags_.print_tasks = true;
  SmallModel().write(flags_.model);
  const Answer a = answer_to(flags_);
  EXPECT_EQ(a.code, 0) << a.line;
  const auto tasks = parse_tasks(test_operators(), a.out, "printed");
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  std::set<std::string> kinds;
  for (const WeightedWorkload& t : *tasks) kinds.insert(t.workload.operator_name());
  EXPECT_TRUE(kinds.count("conv2d") && kinds.count("dense") && kinds.count("softmax")) << a.out;
  EXPECT_FALSE(kinds.count("reshape")) << "views need no code";
  EXPECT_FALSE(std::filesystem::exists(flags_.db)) << "nothing starts";
}

TEST_F(Tune, BadTasksAreSaidBeforeAnythingStarts) {
  flags_.task = "";
  flags_.tasks = dir_ + "/tasks.txt";
  expect(kExitUsage, "No such file");
  std::ofstream(flags_.tasks) << "dense\nconv9d\n";
  expect(kExitUsage, "tasks.txt:2: ");
  EXPECT_FALSE(std::filesystem::exists(flags_.db));
}

TEST_F(Tune, APlotThatCannotBeWrittenIsSaidBeforeAnythingStarts) {
  flags_.plot = dir_ + "/nowhere/curve.svg";
  expect(kExitUsage, "--plot " + flags_.plot + " cannot be written: there is no folder");
  flags_.plot = dir_;
  expect(kExitUsage, "--plot " + dir_ + " cannot be written: Is a directory");
  EXPECT_FALSE(std::filesystem::exists(flags_.db));
}

TEST_F(Tune, ADatabaseThatIsATextFileIsExitCode5) {
  std::ofstream(flags_.db)
      << "this is a text file that is long enough to be looked at as a database, one would think so\n";
  expect(kExitDatabase, "hub.db");
}

TEST(TaskList, ShowsEveryTaskWithItsDefaults) {
  std::ostringstream out;
  list_tasks(test_operators(), out);
  for (const char* part : {"conv2d: ", "depthwise_conv2d: ", "dense: ", "batch_matmul: ", "--args n=1,ci=64"})
    EXPECT_NE(out.str().find(part), std::string::npos) << part;
}

// The list says which operators tuner refuses to tune.
TEST(TaskList, TellsApartWhatHasNothingToTune) {
  const OperatorTable operators = standard_operators();
  std::ostringstream out;
  list_tasks(operators, out);
  const std::string text = "\n" + out.str();
  const size_t in_c = text.find("\nFunctions in C, ");
  ASSERT_NE(in_c, std::string::npos);
  size_t refused = 0;
  for (const auto& op : operators.rows()) {
    const size_t at = text.find("\n" + op->name + ": ");
    ASSERT_NE(at, std::string::npos) << op->name;
    bool is_refused = false;
    try {
      define(Workload::parse(operators, op->name, ""));
    } catch (const UserError&) {
      is_refused = true;
    }
    EXPECT_EQ(at > in_c, is_refused) << op->name;
    refused += is_refused;
  }
  EXPECT_GE(refused, 6u);
}

}  // namespace
}  // namespace hone
