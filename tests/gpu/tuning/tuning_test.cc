// The programs on GPU targets: an agent offers the devices it finds, and a tuner tunes for them. The OpenCL tests run
// on every machine with an OpenCL device (PoCL).
#include "compiler/runtime/gpu/opencl.h"
#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class GpuTuning : public Workplace {
 protected:
  void SetUp() override {
    if (const auto driver = load_opencl(); !driver.ok()) GTEST_SKIP() << driver.status().message();
  }
  Words tune(const std::string& task, const std::string& args, int trials, const Words& more = {}) {
    Words words = {"tuner",    "--task",   task,
                   "--args",   args,       "--target",
                   "opencl",   "--trials", std::to_string(trials),
                   "--repeat", "2",        "--min-repeat-ms",
                   "0.2",      "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(GpuTuning, ByItselfOnThisMachinesDevice) {
  const Output first = run(tune("dense", "m=12,n=16,k=20,dtype=f32,epilogue=bias+relu", 6));
  ASSERT_EQ(first.code, 0) << first.err;
  const Json j = first.json();
  EXPECT_THAT(j["target"].get<std::string>(), StartsWith("opencl -sms="));
  EXPECT_EQ(j["by_status"], Json({{"ok", 6}}));
  EXPECT_TRUE(j["best"]["confirmed"].get<bool>());
  EXPECT_GT(j["best"]["time_ms"].get<double>(), 0);
  EXPECT_EQ(stored(db_).trials, 6);

  const Output second = run(tune("dense", "m=12,n=16,k=20,dtype=f32,epilogue=bias+relu", 8));
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.json()["trials"], 8) << "what was measured is not measured again";
}

TEST_F(GpuTuning, OnAFleetThatOffersEveryDevice) {
  Program tracker = start({"tracker", "--listen", "127.0.0.1:0", "--http", "none"});
  ASSERT_TRUE(tracker.wait_out("\n")) << tracker.err();
  const std::string line = tracker.out(), address = line.substr(line.rfind("listening on ") + 13,
                                                                line.find_first_of(",\n", line.rfind("listening on ")) -
                                                                    line.rfind("listening on ") - 13);
  Program agent = start({"device-agent", "--tracker", address, "--name", "lab"});
  ASSERT_TRUE(agent.wait_err("connected to ")) << agent.err();
  EXPECT_THAT(agent.err(), HasSubstr("lab/cpu (llvm"));
  EXPECT_THAT(agent.err(), HasSubstr("lab/opencl0 (opencl -sms="));
  // Both at the same time.
  Program gpu = start(tune("elementwise", "op=add,shape=4x32", 3, {"--tracker", address, "--device", "lab"}));
  Program cpu = start({"tuner", "--tracker", address, "--device", "lab/cpu", "--task", "dense", "--args",
                       "m=8,n=16,k=16", "--target", "llvm", "--trials", "8", "--json"});
  EXPECT_EQ(gpu.wait(), 0) << gpu.err();
  EXPECT_EQ(cpu.wait(), 0) << cpu.err();
  const Output status = run({"tracker", "status", "--json", "--tracker", address});
  for (const Json& d : status.json()["devices"]) {
    EXPECT_GT(d["done"].get<int>(), 0) << d;
    EXPECT_EQ(d["failed"].get<int>(), 0) << d;
  }
  agent.signal(SIGTERM);
  EXPECT_EQ(agent.wait(), 0) << agent.err();
}

TEST_F(GpuTuning, AnAgentMayOfferAGpuOnly) {
  Program agent =
      start({"device-agent", "--tracker", "127.0.0.1:1", "--name", "lab", "--target", "opencl", "--exit-with-parent"});
  const Output wrong =
      run({"device-agent", "--tracker", "127.0.0.1:1", "--target", "opencl", "--target", "opencl -sms=3"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--target was given more than once for opencl"));
  ASSERT_TRUE(agent.wait_err("isolation of modules")) << agent.err();
  agent.signal(SIGTERM);
  EXPECT_EQ(agent.wait(), 0) << agent.err();
}

}  // namespace
}  // namespace hone::e2e
