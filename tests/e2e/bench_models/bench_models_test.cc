// bench_models from the command line to its files, with a program that stands for ONNX Runtime, and with ONNX Runtime
// where it is installed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/child_process.h"
#include "base/exit_code.h"
#include "base/json.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct BenchModels : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";
  const std::string program = kBin + "/bench_models";
  const std::string quick = " --turns 2 --turn-ms 0 --starts 1";
  const std::string fake = " --peer " + kBin + "/bench_models_fake_peer --onnxruntime " + kBin + "/bench_models";

  // y = max(x, 0), as the peer computes it.
  std::string relu(const std::string& name) const {
    TestModel m;
    m.model.set_ir_version(8);
    m.input("x", {2, 64}).node("Relu", {"x"}, {"y"});
    return write(name, m, {2, 64});
  }
  std::string write(const std::string& name, TestModel& m, const std::vector<TestDim>& dims) const {
    // ONNX Runtime wants to know the outputs' types.
    TestModel typed;
    typed.input("y", dims);
    *m.graph()->add_output() = typed.graph()->input(0);
    const std::string file = folder + name + ".onnx";
    std::ofstream out(file, std::ios::binary);
    m.model.SerializeToOstream(&out);
    return file;
  }
  static Json read(const std::string& file) {
    std::ifstream in(file);
    return Json::parse(in, nullptr, false);
  }
};

TEST_F(BenchModels, MeasuresChecksAndKeepsWhatItMeasured) {
  const Ran ran = shell(program + " " + relu("good") + quick + fake + " --threads 1,2 --spinning --json " + folder +
                        "r.json --chart " + folder + "r.svg");
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, AllOf(HasSubstr("good "), HasSubstr("1 default"), HasSubstr("all (1)")));
  const Json rows = read(folder + "r.json")["rows"];
  ASSERT_EQ(rows.size(), 2u) << ran.output;
  EXPECT_EQ(rows[1]["threads"], 2);
  for (const char* contender : {"untuned", "onnxruntime", "onnxruntime_spinning"}) {
    EXPECT_GT(rows[0]["ms"][contender], 0) << contender;
    EXPECT_EQ(rows[0]["turns_ms"][contender].size(), 2u) << contender;
  }
  EXPECT_EQ(rows[0]["difference"], 0);
  EXPECT_EQ(rows[0]["start"]["onnxruntime"]["open_ms"], 20);
  EXPECT_GT(rows[0]["artifact_bytes"], 1000);
  EXPECT_TRUE(std::filesystem::exists(folder + "r.svg"));

  const Ran again = shell(program + " --from " + folder + "r.json --chart " + folder + "again.svg");
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.output, AllOf(HasSubstr("good "), HasSubstr("all (1)")));
  EXPECT_EQ(shell("cmp " + folder + "r.svg " + folder + "again.svg").code, 0);
}

TEST_F(BenchModels, MeasuresTheTunedArtifactBesideTheUntunedOne) {
  std::ofstream(folder + "empty.db").close();  // an empty tophub: defaults, as the untuned artifact has them
  const Ran ran =
      shell(program + " " + relu("good") + quick + fake + " --db " + folder + "empty.db --json " + folder + "r.json");
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_GT(read(folder + "r.json")["rows"][0]["ratio"]["tuned"], 0);
  const Ran none = shell(program + " " + relu("good") + fake + " --db " + folder + "none.db");
  EXPECT_EQ(none.code, kExitUsage);
  EXPECT_THAT(none.output, HasSubstr("none.db: there is no such file"));
}

TEST_F(BenchModels, LayersOfBothSidesAreShownAndKept) {
  const Ran ran =
      shell(program + " " + relu("good") + quick + fake + " --layers --threads 1,2 --json " + folder + "r.json");
  ASSERT_EQ(ran.code, 0) << ran.output;
  const std::string heading = "  Hone, untuned ";
  EXPECT_THAT(ran.output, AllOf(HasSubstr(heading), HasSubstr("    Relu                          2      3.00 100.0%")));
  for (const Json& row : read(folder + "r.json")["rows"]) {
    const Json& ours = row["layers"]["untuned"];
    ASSERT_EQ(ours.size(), 1u) << row;
    EXPECT_EQ(ours[0]["operation"], "fused");
    EXPECT_GT(ours[0]["ms"], 0);
    EXPECT_EQ(row["layers"]["onnxruntime"][1]["name"], "relu_2");
  }
  EXPECT_THAT(shell(program + " --from " + folder + "r.json").output, HasSubstr(heading));
  const Ran refused =
      shell(program + " " + relu("refuses_layers") + quick + fake + " --layers --json " + folder + "refused.json");
  EXPECT_EQ(refused.code, 0) << "its turns are a result without them";
  EXPECT_THAT(refused.output, HasSubstr("  layers: ONNX Runtime: no profile can be written\n"));
  const Json row = read(folder + "refused.json")["rows"][0];
  EXPECT_GT(row["ms"]["untuned"], 0);
  EXPECT_FALSE(row.contains("layers")) << row;
}

TEST_F(BenchModels, RowThatFailsSaysWhyAndTheOthersGoOn) {
  std::ofstream(folder + "broken.onnx") << "nonsense";
  std::string files;
  for (const char* name : {"refuses", "dies_at_start", "dies", "hangs", "wrong", "good"}) files += relu(name) + " ";
  const Ran ran =
      shell(program + " " + folder + "broken.onnx " + files + quick + fake + " --limit 10 --json " + folder + "r.json");
  EXPECT_EQ(ran.code, 0) << ran.output;
  const Json rows = read(folder + "r.json")["rows"];
  ASSERT_EQ(rows.size(), 7u) << ran.output;
  const char* reasons[] = {"not an ONNX file",           "Relu(99) is not",
                           "ended with SIGABRT",         "the peer's last words",
                           "did not answer within 10 s", "wrong outputs: 'y' (untuned) is off by"};
  for (size_t i = 0; i < std::size(reasons); ++i) {
    EXPECT_THAT(rows[i].value("error", ""), HasSubstr(reasons[i]));
    EXPECT_FALSE(rows[i].contains("ms")) << rows[i];
    EXPECT_THAT(ran.output, HasSubstr(reasons[i]));
  }
  EXPECT_FALSE(rows[6].contains("error")) << rows[6];
  EXPECT_THAT(ran.output, HasSubstr("all (1)")) << "the mean is of one model";
}

// The number of elements is compared, but not the memory behind them.
TEST_F(BenchModels, ComparesWhatThereIsOfAnOutputAsLongAsARunFindsOut) {
  std::string files;
  for (const char* name : {"some", "fewer"}) {
    TestModel m;
    m.model.set_ir_version(8);
    m.input("x", {64}).floats("zero", {}, {0}).node("Greater", {"x", "zero"}, {"g"});
    m.node("Compress", {"x", "g"}, {"y"}).number("axis", 0);
    files += write(name, m, {TestDim("n")}) + " ";
  }
  const Ran ran = shell(program + " " + files + quick + fake + " --json " + folder + "r.json");
  EXPECT_EQ(ran.code, 0) << ran.output;
  const Json rows = read(folder + "r.json")["rows"];
  ASSERT_EQ(rows.size(), 2u) << ran.output;
  EXPECT_EQ(rows[0].value("error", ""), "");
  EXPECT_EQ(rows[0]["difference"], 0);
  EXPECT_THAT(rows[1].value("error", ""),
              testing::MatchesRegex("wrong outputs: 'y' \\(untuned\\) has extent [0-9]+, in ONNX Runtime [0-9]+"));
}

TEST_F(BenchModels, FixesFreeDimensionsAndGivesBoundInputsTheirValue) {
  TestModel m;
  m.model.set_ir_version(8);
  m.input("x", {"batch", 64}).input("mode", {}, kInt64);
  m.node("Relu", {"x"}, {"r"}).node("Cast", {"mode"}, {"c"});
  m.last->add_attribute()->set_name("to");
  m.last->mutable_attribute(0)->set_i(kFloat);
  m.floats("zero", {}, {0}).node("Mul", {"c", "zero"}, {"z"}).node("Add", {"r", "z"}, {"y"});
  const std::string file = write("free", m, {"batch", 64});
  const Ran ran =
      shell(program + " " + file + quick + fake + " --bind batch=2 --bind free:mode=7 --json " + folder + "r.json");
  EXPECT_EQ(ran.code, 0) << ran.output;
  const Ran other = shell(program + " " + file + quick + fake + " --bind batch=3 --bind mode=7");
  EXPECT_EQ(other.code, kExitAllFailed);
  EXPECT_THAT(other.output, HasSubstr("batch is not fixed"));
}

TEST_F(BenchModels, InterruptKeepsWhatWasMeasured) {
  const std::string json = folder + "r.json", log = folder + "log";
  const int log_fd = creat(log.c_str(), 0600);
  auto child = ChildProcess::spawn(
      {.argv = {program, relu("good"), relu("hangs"), "--turns", "2", "--turn-ms", "0", "--starts", "1", "--peer",
                kBin + "/bench_models_fake_peer", "--onnxruntime", program, "--json", json},
       .stdout_fd = log_fd,
       .stderr_fd = log_fd});
  close(log_fd);
  ASSERT_TRUE(child.ok()) << child.status();
  for (int i = 0; i < 3000 && !std::filesystem::exists(json); ++i) {
    ASSERT_FALSE(child->wait(std::chrono::milliseconds(20))) << "it ended too early";
  }
  child->signal(SIGINT);
  const int status = child->wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kExitInterrupted) << describe_exit(status);
  const Json rows = read(json)["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["model"], "good");
  std::ifstream in(log);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(in), {}), HasSubstr("all (1)"));
}

TEST_F(BenchModels, SaysWhatIsMissing) {
  const Ran nothing = shell("HONE_ONNXRUNTIME= " + program);
  EXPECT_EQ(nothing.code, kExitUsage);
  EXPECT_THAT(nothing.output, AllOf(HasSubstr("no models"), HasSubstr("--bind"), HasSubstr("--models")));
  const Ran no_peer = shell("HONE_ONNXRUNTIME=" + folder + "none.so " + program + " " + relu("good"));
  EXPECT_EQ(no_peer.code, kExitUsage);
  EXPECT_THAT(no_peer.output, AllOf(HasSubstr(folder + "none.so"), HasSubstr("deploy/peers")));
  const Ran no_file = shell(program + " " + folder + "none.onnx");
  EXPECT_EQ(no_file.code, kExitUsage);
  EXPECT_THAT(no_file.output, HasSubstr("none.onnx: there is no such file"));
  const Ran no_library = shell(program + " " + relu("good") + quick + " --onnxruntime " + relu("library"));
  EXPECT_EQ(no_library.code, kExitAllFailed);
  EXPECT_THAT(no_library.output, HasSubstr("ONNX Runtime cannot be loaded"));
  const Ran no_folder = shell(program + " " + relu("good") + fake + " --json " + folder + "none/r.json");
  EXPECT_EQ(no_folder.code, kExitUsage);
  EXPECT_THAT(no_folder.output, HasSubstr("none/r.json: no file can be made in its folder"));
  const Ran both = shell(program + " " + relu("good") + " --models " + folder);
  EXPECT_EQ(both.code, kExitUsage);
}

TEST_F(BenchModels, AgreesWithOnnxRuntimeItself) {
  const char* named = std::getenv("HONE_ONNXRUNTIME");
  const std::string library = named ? named : kBin + "/../peers/libonnxruntime.so.1";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "ONNX Runtime is not installed (deploy/peers)";
  TestModel m;
  m.model.set_ir_version(8);
  m.input("x", {"batch", 64}).node("Relu", {"x"}, {"y"});
  const std::string file = write("free", m, {"batch", 64});
  const Ran ran =
      shell(program + " " + file + quick + " --bind batch=2 --threads 1,2 --spinning --layers --onnxruntime " +
            library + " --json " + folder + "r.json");
  ASSERT_EQ(ran.code, 0) << ran.output;
  for (const Json& row : read(folder + "r.json")["rows"]) {
    EXPECT_EQ(row["difference"], 0);
    EXPECT_GT(row["ms"]["onnxruntime"], 0);
    ASSERT_EQ(row["layers"]["onnxruntime"].size(), 1u) << row["layers"];
    EXPECT_EQ(row["layers"]["onnxruntime"][0]["operation"], "Relu");
    EXPECT_GE(row["layers"]["onnxruntime"][0]["ms"], 0) << "whole microseconds";
  }
  EXPECT_THAT(ran.output, testing::Not(HasSubstr("wrong outputs")));
}

}  // namespace
}  // namespace hone
