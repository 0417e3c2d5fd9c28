// A board's sensors, played by files: the tracker shows the agent's readings, and trials store them.
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "db/store.h"
#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {
namespace {

using testing::HasSubstr;

class MachineState : public Workplace {
 protected:
  MachineState() {
    put("sys/class/thermal/thermal_zone0/type", "cpu-thermal");
    put("sys/class/thermal/thermal_zone0/temp", "61500");
    put("sys/class/thermal/thermal_zone0/trip_point_0_type", "passive");
    put("sys/class/thermal/thermal_zone0/trip_point_0_temp", "85000");
    put("sys/devices/platform/soc/soc:firmware/get_throttled", "0");
    put("proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0");
    for (int cpu = 0; cpu < 256; ++cpu) {  // whichever this process may use
      const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/";
      put(folder + "scaling_cur_freq", "1500000");
      put(folder + "scaling_governor", "ondemand");
    }
  }

  // As a file is changed in sysfs: no reader finds half of it.
  void put(const std::string& name, const std::string& text) {
    const std::filesystem::path file = path("board/" + name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file.string() + ".new") << text << "\n";
    std::filesystem::rename(file.string() + ".new", file);
  }
  Words tune(int trials) const {
    return {"tuner",
            "--tracker",
            address_,
            "--device",
            "pi4",
            "--task",
            "dense",
            "--args",
            "m=8,n=32,k=16",
            "--trials",
            std::to_string(trials),
            "--repeat",
            "2",
            "--min-repeat-ms",
            "0.2",
            "--json"};
  }
  std::vector<db::TrialRow> trials() const { return db::Store::open(db_).value()->trials().list({}).value(); }
  Json device() { return Json::parse(run({"tracker", "status", "--tracker", address_, "--json"}).out)["devices"][0]; }

  void start_fleet() {
    tracker_.emplace(start({"tracker", "--listen", address_, "--http", "127.0.0.1:0"}));
    ASSERT_TRUE(tracker_->wait_out("\n")) << tracker_->err();
    agent_.emplace(start({"device-agent", "--target", "llvm", "--threads", "1", "--tracker", address_, "--name", "pi4",
                          "--sensors", path("board")}));
    ASSERT_TRUE(agent_->wait_err("connected to ")) << agent_->err();
  }

  const std::string address_ = "unix:" + path("tracker.sock");
  std::optional<Program> tracker_, agent_;
};

TEST_F(MachineState, IsShownByTheTrackerAndStoredWithTheTrials) {
  start_fleet();
  EXPECT_THAT(agent_->err(), HasSubstr("clocks follow its load (governor ondemand)"));
  ASSERT_TRUE(eventually([&] { return !device()["temperature_c"].is_null(); }));
  EXPECT_EQ(device()["governor"], "ondemand");
  EXPECT_EQ(device()["clock_mhz"], 1500);
  EXPECT_THAT(run({"tracker", "status", "--tracker", address_}).out, HasSubstr("governor ondemand: its clocks follow"));
  const Output tuned = run(tune(8));
  ASSERT_EQ(tuned.code, 0) << tuned.err << agent_->err();
  const std::vector<db::TrialRow> rows = trials();
  EXPECT_GE(rows.size(), 8u);
  for (const db::TrialRow& row : rows) {
    if (row.status == "invalid_config") continue;
    EXPECT_EQ(row.machine, (db::MachineState{"ondemand", 61.5, 61.5, 1500, 1500, ""})) << row.config;
  }
  const Output best = run({"tophub", "best", "--task", "dense", "--args", "m=8,n=32,k=16", "--target",
                           tuned.json()["target"].get<std::string>()});
  EXPECT_THAT(best.out, HasSubstr("machine   governor ondemand, 62 to 62 °C, 1500 to 1500 MHz\n"));
}

// Too little voltage, then too hot: nothing is timed until both are over.
TEST_F(MachineState, AThrottledBoardIsWaitedFor) {
  put("sys/devices/platform/soc/soc:firmware/get_throttled", "50005");
  start_fleet();
  ASSERT_TRUE(eventually([&] { return device()["throttled"] == "undervoltage"; }));
  EXPECT_EQ(device()["why"], "throttled: undervoltage");
  Program tuner = start(tune(4));
  ASSERT_TRUE(agent_->wait_err("this machine is throttled (undervoltage): waiting up to 60 s")) << agent_->err();
  EXPECT_EQ(stored(db_).rows, 0);
  put("sys/class/thermal/thermal_zone0/temp", "84000");
  put("sys/devices/platform/soc/soc:firmware/get_throttled", "50000");
  ASSERT_TRUE(eventually([&] { return device()["throttled"] == "hot"; }));
  EXPECT_EQ(stored(db_).rows, 0);
  put("sys/class/thermal/thermal_zone0/temp", "70000");
  ASSERT_EQ(tuner.wait(), 0) << tuner.err() << agent_->err();
  const std::vector<db::TrialRow> rows = trials();
  EXPECT_GE(rows.size(), 4u);
  for (const db::TrialRow& row : rows) {
    if (row.status == "invalid_config") continue;
    ASSERT_TRUE(row.machine) << row.config;
    EXPECT_EQ(row.machine->temperature_before_c, 70) << "it began when the board was cool";
    EXPECT_EQ(row.machine->throttled, "");
  }
}

TEST_F(MachineState, WhoAsksForAPisGpuIsToldThatItHasNoDriver) {
  put("proc/device-tree/model", std::string("Raspberry Pi 5 Model B Rev 1.0\0", 31));
  std::filesystem::create_directories(path("vendors"));
  const Output refused = run({"/usr/bin/env", "OCL_ICD_VENDORS=" + path("vendors"), HONE_BIN_DIR "/device-agent",
                              "--target", "opencl", "--tracker", address_, "--sensors", path("board")});
  EXPECT_EQ(refused.code, 3);
  EXPECT_EQ(count_lines(refused.err), 1u) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("--target opencl: no device of this machine serves it"));
  EXPECT_THAT(refused.err,
              HasSubstr("VideoCore) has no OpenCL driver in Raspberry Pi OS; --target llvm measures its CPU"));
}

}  // namespace
}  // namespace hone::e2e
