// The sides' protocol, between the benchmark's end and a program that stands for ONNX Runtime.
#include <gmock/gmock.h>

#include <fstream>

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "tests/bench/models/side_loop.h"
#include "tests/bench/models/side_process.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::bench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::chrono::milliseconds kPatience{60'000};

struct Side : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";
  std::atomic<bool> stop = false;

  SideCase relu(const std::string& name) const {
    SideCase c;
    c.model = folder + name + ".onnx";
    c.dims = {{"batch", 2}};
    c.inputs = {{"x", {4}, 1, 16, folder + "x"}};
    c.outputs = {{"y", {4}, 1, 16, folder + "y"}};
    c.turn = {.least_ms = 0, .least_runs = 1};
    const std::vector<float> x = {-1, 2, -3, 4};
    std::ofstream(c.inputs[0].file, std::ios::binary).write(reinterpret_cast<const char*>(x.data()), 16);
    return c;
  }
  StatusOr<SideProcess> start(const SideCase& c, std::chrono::milliseconds limit = kPatience) {
    EXPECT_TRUE(write_atomically(folder + "case.json", to_json(c).dump()).ok());
    return SideProcess::start(
        {.title = "the peer",
         .argv = {std::string(HONE_BIN_DIR) + "/bench_models_fake_peer", "onnxruntime", folder + "case.json"},
         .log = folder + "log",
         .limit = limit,
         .stop = &stop});
  }
};

TEST_F(Side, AnswersWithItsStartItsOutputsAndTheTimeOfEachTurn) {
  StatusOr<SideProcess> side = start(relu("good"));
  ASSERT_TRUE(side.ok()) << side.status();
  EXPECT_EQ(side->version(), "fake 1.0");
  EXPECT_EQ(side->start_times().library_ms, 30);
  EXPECT_EQ(side->start_times().open_ms, 20);
  EXPECT_THAT(side->start_times().total(), Gt(50));
  std::vector<float> y(4);
  std::ifstream(folder + "y", std::ios::binary).read(reinterpret_cast<char*>(y.data()), 16);
  EXPECT_THAT(y, ElementsAre(0, 2, 0, 4));
  for (int turn = 0; turn < 3; ++turn) {
    const StatusOr<double> ms = side->turn();
    ASSERT_TRUE(ms.ok()) << ms.status();
    EXPECT_GT(*ms, 0);
  }
}

TEST_F(Side, IsAnErrorInItsOwnWordsWhereItRefusesTheModel) {
  EXPECT_EQ(message_of(start(relu("refuses")).status()), "the peer: Relu(99) is not a registered function/op");
  SideCase short_input = relu("good");
  short_input.inputs[0].bytes = 1000;
  EXPECT_THAT(message_of(start(short_input).status()), HasSubstr("does not hold the 1000 bytes of input 'x'"));
}

TEST_F(Side, ThatDiesIsAnErrorWithHowAndItsLastWords) {
  EXPECT_THAT(message_of(start(relu("dies_at_start")).status()), StartsWith("the peer: ended with SIGABRT"));
  StatusOr<SideProcess> side = start(relu("dies"));
  ASSERT_TRUE(side.ok()) << side.status();
  ASSERT_TRUE(side->turn().ok());
  EXPECT_THAT(message_of(side->turn().status()),
              AllOf(StartsWith("the peer: ended with SIGKILL"), HasSubstr("the peer's last words")));
  EXPECT_FALSE(side->turn().ok()) << "nobody is there any more";
}

TEST_F(Side, ThatHangsIsLeftAfterTheLimit) {
  StatusOr<SideProcess> side = start(relu("hangs"), std::chrono::milliseconds(2000));
  ASSERT_TRUE(side.ok()) << side.status();
  ASSERT_TRUE(side->turn().ok());
  EXPECT_EQ(message_of(side->turn().status()), "the peer: did not answer within 2 s");
}

TEST_F(Side, ThatSaysSomethingElseIsAnError) {
  EXPECT_THAT(message_of(start(relu("babbles")).status()), HasSubstr("no answer: good morning"));
  const StatusOr<SideProcess> missing =
      SideProcess::start({.title = "the peer", .argv = {folder + "nobody"}, .log = folder + "log"});
  EXPECT_THAT(message_of(missing.status()), HasSubstr("cannot start " + folder + "nobody"));
}

TEST_F(Side, IsNotWaitedForOnceTheRunIsInterrupted) {
  StatusOr<SideProcess> side = start(relu("hangs"));
  ASSERT_TRUE(side.ok() && side->turn().ok());
  stop = true;
  EXPECT_EQ(exit_code_of(side->turn().status()), kExitInterrupted);
}

TEST_F(Side, TellsItsLayersOnceWhereTheCaseHasAFileForThem) {
  SideCase c = relu("good");
  StatusOr<SideProcess> none = start(c);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_THAT(message_of(none->layers(folder + "layers").status()), HasSubstr("'layers' is no request"));

  c.layers_file = folder + "layers";
  StatusOr<SideProcess> side = start(c);
  ASSERT_TRUE(side.ok() && side->turn().ok());
  const auto layers = side->layers(c.layers_file);
  ASSERT_TRUE(layers.ok()) << layers.status();
  ASSERT_EQ(layers->size(), 2u);
  EXPECT_EQ((*layers)[1].name, "relu_2");
  EXPECT_EQ((*layers)[1].operation, "Relu");
  EXPECT_EQ((*layers)[1].ms, 2);
  EXPECT_FALSE(side->turn().ok()) << "it was its last answer";

  SideCase refusing = relu("refuses_layers");
  refusing.layers_file = folder + "others";
  StatusOr<SideProcess> other = start(refusing);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(message_of(other->layers(refusing.layers_file).status()), "the peer: no profile can be written");
}

TEST_F(Side, ThatWritesNoLayersIsAnError) {
  SideCase c = relu("good");
  c.layers_file = folder + "layers";
  StatusOr<SideProcess> side = start(c);
  ASSERT_TRUE(side.ok());
  EXPECT_THAT(message_of(side->layers(folder + "elsewhere").status()), HasSubstr("its layers are not in the file"));
}

TEST_F(Side, CaseComesBackFromItsFile) {
  SideCase c = relu("good");
  c.library = "/lib/x.so";
  c.threads = 3;
  c.spinning = true;
  c.layers_file = folder + "layers";
  c.inputs.push_back({"scalar", {}, 7, 8, folder + "s"});
  ASSERT_TRUE(write_atomically(folder + "case.json", to_json(c).dump()).ok());
  const StatusOr<SideCase> read = read_side_case(folder + "case.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(to_json(*read), to_json(c));
  ASSERT_TRUE(write_atomically(folder + "case.json", "{\"model\": 3}").ok());
  EXPECT_THAT(message_of(read_side_case(folder + "case.json").status()), StartsWith(folder + "case.json: "));
}

TEST(Turn, IsAsLongAsTheRulesSayAndItsFirstRunIsNotCounted) {
  double now = 0;
  std::vector<double> runs = {1000, 4, 1, 3, 2, 5, 100};  // milliseconds
  size_t count = 0;
  const auto run = [&] { return now += runs.at(count++), absl::OkStatus(); };
  const auto clock = [&] { return now; };
  EXPECT_EQ(turn_ms({.least_ms = 0, .least_runs = 5}, run, clock).value(), 3) << "the median of five";
  EXPECT_EQ(count, 6u);
  count = 0;
  EXPECT_EQ(turn_ms({.least_ms = 16, .least_runs = 1}, run, clock).value(), 4) << "of 4, 1, 3, 2, 5 and 100";
  EXPECT_EQ(count, 7u) << "after five runs it had taken 15 ms";
}

TEST(Turn, EndsWithTheFirstRunThatFails) {
  int count = 0;
  const auto run = [&] { return ++count < 3 ? absl::OkStatus() : absl::InternalError("out of memory"); };
  EXPECT_EQ(message_of(turn_ms({}, run, [] { return 0.0; }).status()), "out of memory");
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace hone::bench
