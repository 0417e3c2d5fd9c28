// tensorc checks and times on a device of a tracker.
#include <fmt/format.h>

#include <regex>

#include "tests/e2e/fleet/programs.h"
#include "tests/fakes/small_model.h"

namespace hone::e2e {
namespace {

using testing::HasSubstr;

class RemoteCheck : public Workplace {
 protected:
  void SetUp() override {
    tracker_.emplace(start({"tracker", "--listen", address_, "--http", "127.0.0.1:0"}));
    ASSERT_TRUE(tracker_->wait_out("\n")) << tracker_->err();
    agent_.emplace(
        start({"device-agent", "--target", "llvm", "--threads", "1", "--tracker", address_, "--name", "pi4"}));
    ASSERT_TRUE(agent_->wait_err("connected to ")) << agent_->err();
  }
  Output tensorc(const Words& more, const Words& where = {"--device", "pi4"}) {
    Words words = {"tensorc", "--tracker", address_};
    words.insert(words.end(), where.begin(), where.end());
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  const std::string address_ = "unix:" + path("tracker.sock");
  std::optional<Program> tracker_, agent_;
};

TEST_F(RemoteCheck, OfAnOperator) {
  const Output r = tensorc({"--task", "dense", "--args", "m=8,n=32,k=16", "--check", "--bench", "--json"});
  ASSERT_EQ(r.code, 0) << r.err << agent_->err();
  EXPECT_THAT(r.err, HasSubstr("device: pi4/cpu (llvm -mtriple="));
  EXPECT_THAT(r.err, HasSubstr("check: agrees with the reference on pi4/cpu (relative error "));
  EXPECT_GT(r.json()["time_ms"].get<double>(), 0);
  EXPECT_THAT(r.json()["target"].get<std::string>(), HasSubstr("-threads=1")) << "the device's, not this machine's";
}

TEST_F(RemoteCheck, OfAModelLayerByLayer) {
  const std::string file = path("small.onnx"), so = path("small.so");
  SmallModel().write(file);
  const Output r = tensorc({file, "-o", so, "--check", "--bench", "--profile", "--report", path("r.json")});
  ASSERT_EQ(r.code, 0) << r.err << agent_->err();
  EXPECT_THAT(r.err, testing::ContainsRegex("check: [0-9]+ kernels agree with their references on pi4/cpu"));
  std::smatch found;
  ASSERT_TRUE(std::regex_search(
      r.out, found, std::regex(" ms in all\n([0-9.]+) ms \\(the sum of ([0-9]+) layers, each by itself on pi4/cpu\\)")))
      << r.out;
  const Json report = Json::parse(read_file(path("r.json")));
  EXPECT_EQ(report["machine"], "pi4/cpu");
  EXPECT_FALSE(read_file(so).empty());
}

TEST_F(RemoteCheck, SaysWhatIsNotThere) {
  const Words task = {"--task", "dense", "--args", "m=8,n=32,k=16", "--check"};
  const Output other = tensorc(task, {"--device", "pi5"});
  EXPECT_EQ(other.code, 3) << other.err;
  EXPECT_THAT(other.err, HasSubstr("'pi5'"));
  Words alone = {"tensorc", "--device", "pi4"};
  alone.insert(alone.end(), task.begin(), task.end());
  EXPECT_THAT(expect_refused(2, alone), HasSubstr("give --fleet or --tracker too"));
  const std::string file = path("small.onnx");
  SmallModel().write(file);
  const Output inputs = tensorc({file, "-o", path("small.so"), "--inputs", path("")});
  EXPECT_EQ(inputs.code, 2);
  EXPECT_THAT(inputs.err, HasSubstr("--inputs runs the artifact, which is possible here only"));
}

}  // namespace
}  // namespace hone::e2e
