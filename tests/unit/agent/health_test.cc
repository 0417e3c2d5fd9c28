#include "rpc/agent/supervise/health.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <tuple>

#include "base/host_lock.h"
#include "rpc/agent/supervise/machine.h"

namespace hone::agent {
namespace {

namespace fs = std::filesystem;

class HealthTest : public ::testing::Test {
 protected:
  HealthTest() {
    std::string dir = ::testing::TempDir() + "hone-health-XXXXXX";
    dir_ = mkdtemp(dir.data());
    roots_ = {dir_ + "/sys", dir_ + "/proc"};
    put("proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3 4\n");
  }
  ~HealthTest() override { fs::remove_all(dir_); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(dir_ + "/" + path).parent_path());
    std::ofstream(dir_ + "/" + path) << text;
  }
  wire::DeviceHealth read() { return HealthReader("lab/cpu", roots_).read(); }
  void put_cpu(int cpu, const std::string& governor, int khz) {
    const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/cpufreq", cpu);
    put(folder + "/scaling_governor", governor + "\n");
    put(folder + "/scaling_cur_freq", fmt::format("{}\n", khz));
  }
  // A thermal zone of the CPU.
  void put_zone(const std::string& type, const std::string& policy,
                const std::vector<std::pair<std::string, int>>& trips) {
    put("sys/class/thermal/thermal_zone0/type", type + "\n");
    put("sys/class/thermal/thermal_zone0/policy", policy + "\n");
    for (size_t i = 0; i < trips.size(); ++i) {
      put(fmt::format("sys/class/thermal/thermal_zone0/trip_point_{}_type", i), trips[i].first + "\n");
      put(fmt::format("sys/class/thermal/thermal_zone0/trip_point_{}_temp", i), fmt::format("{}\n", trips[i].second));
    }
  }
  void heat(int thousandths) { put("sys/class/thermal/thermal_zone0/temp", fmt::format("{}\n", thousandths)); }

  std::string dir_;
  SystemRoots roots_;
};

TEST_F(HealthTest, TheHottestPackageOfIntelsSensors) {
  put("sys/class/hwmon/hwmon0/name", "nvme\n");
  put("sys/class/hwmon/hwmon0/temp1_input", "91000\n");
  for (const auto& [chip, package] : {std::pair("hwmon1", "61500\n"), std::pair("hwmon2", "63000\n")}) {
    const std::string folder = std::string("sys/class/hwmon/") + chip;
    put(folder + "/name", "coretemp\n");
    put(folder + "/temp2_label", "Core 0\n");
    put(folder + "/temp2_input", "88000\n");
    put(folder + "/temp3_label", "Package id 0\n");
    put(folder + "/temp3_input", package);
  }
  put("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
  put("sys/class/thermal/thermal_zone0/temp", "20000\n");
  EXPECT_EQ(read().device, "lab/cpu");
  EXPECT_EQ(read().temperature_c, 63.0);
}

TEST_F(HealthTest, GovernorsThatLetTheClockFall) {
  put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  put("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "schedutil\n");
  put("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "ondemand\n");
  EXPECT_EQ(slow_governors({0}, roots_), "");
  EXPECT_EQ(slow_governors({0, 1, 2, 3}, roots_), "ondemand, schedutil");
}

TEST_F(HealthTest, ThrottlesAloneAreCountedSinceTheyWereAskedFor) {
  put("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "7\n");
  HealthReader reader("lab/cpu", roots_);
  EXPECT_EQ(reader.glance().throttled, "");
  put("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "9\n");
  EXPECT_EQ(reader.glance().throttled, "thermal");
  EXPECT_EQ(reader.glance().throttled, "");
}

TEST_F(HealthTest, ThrottlesOfEachPackageAndCoreAreCounted) {
  const auto put_count = [&](int cpu, const std::string& of, int count) {
    put(fmt::format("sys/devices/system/cpu/cpu{}/thermal_throttle/{}_throttle_count", cpu, of),
        std::to_string(count) + "\n");
  };
  // Two packages of one core each, and a second thread on the first core.
  for (int cpu = 0; cpu < 3; ++cpu) {
    put(fmt::format("sys/devices/system/cpu/cpu{}/topology/physical_package_id", cpu), cpu == 1 ? "1\n" : "0\n");
    put(fmt::format("sys/devices/system/cpu/cpu{}/topology/core_id", cpu), "0\n");
    for (const char* of : {"package", "core"}) put_count(cpu, of, 5);
  }
  HealthReader reader("lab/cpu", roots_);
  EXPECT_EQ(reader.glance().throttled, "");
  for (const int cpu : {0, 1})
    for (const char* of : {"package", "core"}) {
      put_count(cpu, of, 6);
      EXPECT_EQ(reader.glance().throttled, "thermal") << of << " of CPU " << cpu;
    }
}

TEST_F(HealthTest, TheGovernorsOfTheCpusInUse) {
  put_cpu(0, "ondemand", 600'000);
  put_cpu(1, "performance", 1'800'000);
  put_cpu(2, "schedutil", 1'500'000);
  EXPECT_EQ(read().governor, "ondemand, performance, schedutil");
  HealthReader reader("lab/cpu", roots_, {1});
  EXPECT_EQ(reader.glance().governor, "performance");
  EXPECT_EQ(reader.glance().clock_mhz, 1800);
  put_cpu(1, "powersave", 900'000);
  EXPECT_EQ(reader.glance().governor, "powersave") << "people change it while the agent runs";
  EXPECT_EQ(reader.glance().clock_mhz, 900);
}

// As the kernel has it: cpufreq is a link to the folder of the cluster.
TEST_F(HealthTest, CoresThatShareAClockAreReadOnceAndCountEach) {
  for (const auto& [policy, khz, governor] :
       {std::tuple("policy0", "1000000\n", "ondemand\n"), std::tuple("policy3", "2000000\n", "performance\n")}) {
    put(fmt::format("sys/devices/system/cpu/cpufreq/{}/scaling_cur_freq", policy), khz);
    put(fmt::format("sys/devices/system/cpu/cpufreq/{}/scaling_governor", policy), governor);
  }
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string folder = fmt::format("{}/sys/devices/system/cpu/cpu{}", dir_, cpu);
    fs::create_directories(folder);
    fs::create_directory_symlink(cpu < 3 ? "../cpufreq/policy0" : "../cpufreq/policy3", folder + "/cpufreq");
  }
  EXPECT_EQ(find_sensors(roots_, {}).clocks.size(), 2u);
  EXPECT_EQ(read().clock_mhz, 1250);
  EXPECT_EQ(read().governor, "ondemand, performance");
}

TEST_F(HealthTest, AGlanceReadsSomeOfManyClocksAndNoNominalOne) {
  for (int cpu = 0; cpu < 64; ++cpu) put_cpu(cpu, "performance", cpu < 32 ? 1'000'000 : 3'000'000);
  HealthReader reader("lab/cpu", roots_);
  EXPECT_EQ(reader.glance().clock_mhz, 2000) << "of both halves";
  put_cpu(1, "performance", 9'000'000);
  EXPECT_EQ(reader.glance().clock_mhz, 2000) << "that file is not among them";
  EXPECT_GT(reader.read().clock_mhz, 2000);
  fs::remove_all(dir_ + "/sys/devices");
  put("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 1000.0\n");
  EXPECT_EQ(HealthReader("lab/cpu", roots_).glance().clock_mhz, std::nullopt);
  EXPECT_EQ(HealthReader("lab/cpu", roots_).glance().load, std::nullopt);
}

TEST_F(HealthTest, HotIsAtTheLimitFromWhichTheKernelSlowsTheCpuDown) {
  put_zone("cpu-thermal", "step_wise", {{"active", 50'000}, {"critical", 110'000}, {"passive", 85'000}});
  heat(60'000);
  HealthReader reader("lab/cpu", roots_);
  EXPECT_EQ(reader.glance().throttled, "") << "active trips start fans";
  for (const auto& [thousandths, what] :
       {std::pair(82'000, ""), std::pair(83'500, "hot"), std::pair(91'000, "hot"), std::pair(83'000, "")}) {
    heat(thousandths);
    EXPECT_EQ(reader.glance().throttled, what) << thousandths;
    EXPECT_EQ(reader.glance().temperature_c, thousandths / 1000.0);
  }
  EXPECT_EQ(reader.read().throttled, "");
}

TEST_F(HealthTest, TheLowerTripOfAPowerAllocatorOnlyStartsIt) {
  heat(75'000);
  put_zone("cpu-thermal", "power_allocator", {{"passive", 70'000}, {"passive", 85'000}, {"critical", 115'000}});
  EXPECT_EQ(read().throttled, "");
  put_zone("cpu-thermal", "step_wise", {});
  EXPECT_EQ(read().throttled, "hot");
}

TEST_F(HealthTest, TripsThatNobodySetAreNone) {
  heat(45'000);
  put_zone("x86_pkg_temp", "user_space", {{"passive", 0}, {"passive", -274'000}, {"hot", 1'000}});
  EXPECT_TRUE(find_sensors(roots_, {}).trips.empty());
  EXPECT_EQ(read().throttled, "");
  put_zone("gpu-thermal", "step_wise", {{"passive", 40'000}});
  EXPECT_TRUE(find_sensors(roots_, {}).trips.empty()) << "not the CPU's";
}

TEST_F(HealthTest, TheTrueTemperatureOfAmds) {
  put("sys/class/hwmon/hwmon3/name", "k10temp\n");
  put("sys/class/hwmon/hwmon3/temp1_label", "Tctl\n");
  put("sys/class/hwmon/hwmon3/temp1_input", "90000\n");
  put("sys/class/hwmon/hwmon3/temp2_label", "Tdie\n");
  put("sys/class/hwmon/hwmon3/temp2_input", "70000\n");
  EXPECT_EQ(read().temperature_c, 70.0);
}

TEST_F(HealthTest, ABoardsThermalZone) {
  put("sys/class/thermal/cooling_device0/type", "cpu\n");
  put("sys/class/thermal/thermal_zone0/type", "gpu-thermal\n");
  put("sys/class/thermal/thermal_zone0/temp", "80000\n");
  put("sys/class/thermal/thermal_zone1/type", "cpu-thermal\n");
  put("sys/class/thermal/thermal_zone1/temp", "48312\n");
  EXPECT_EQ(read().temperature_c, 48.312);
}

TEST_F(HealthTest, TheMeanClock) {
  put("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 1000.0\nprocessor\t: 1\ncpu MHz\t\t: 3000.0\n");
  EXPECT_EQ(read().clock_mhz, 2000.0);
  put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1500000\n");
  put("sys/devices/system/cpu/cpu11/cpufreq/scaling_cur_freq", "1800000\n");
  put("sys/devices/system/cpu/cpufreq/scaling_cur_freq", "9900000\n");
  EXPECT_EQ(read().clock_mhz, 1650.0);
}

TEST_F(HealthTest, WhatARaspberryPisFirmwareSays) {
  for (const char* soc : {"soc", "soc@107c000000"}) {
    const std::string file = fmt::format("sys/devices/platform/{0}/{0}:firmware/get_throttled", soc);
    put(file, "0\n");
    HealthReader reader("lab/cpu", roots_);
    for (const auto& [bits, what] :
         {std::pair("50005\n", "undervoltage"), std::pair("4\n", "thermal"), std::pair("80008\n", "thermal"),
          std::pair("2\n", "frequency capped"), std::pair("50000\n", ""), std::pair("0\n", "")}) {
      put(file, bits);
      EXPECT_EQ(reader.read().throttled, what) << soc << " " << bits;
    }
    fs::remove_all(dir_ + "/sys/devices/platform");
  }
}

TEST_F(HealthTest, AWeakSupplyWhereTheFirmwareIsNotAsked) {
  put("sys/class/hwmon/hwmon1/name", "rpi_volt\n");
  put("sys/class/hwmon/hwmon1/in0_lcrit_alarm", "0\n");
  HealthReader reader("lab/cpu", roots_);
  EXPECT_EQ(reader.read().throttled, "");
  put("sys/class/hwmon/hwmon1/in0_lcrit_alarm", "1\n");
  EXPECT_EQ(reader.read().throttled, "undervoltage");
}

TEST_F(HealthTest, CountsOfThrottlingThatGrow) {
  const std::string file = "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count";
  put(file, "7\n");
  HealthReader reader("lab/cpu", roots_);
  EXPECT_EQ(reader.read().throttled, "") << "what was before nobody knows";
  EXPECT_EQ(reader.read().throttled, "");
  put(file, "9\n");
  EXPECT_EQ(reader.read().throttled, "thermal");
  EXPECT_EQ(reader.read().throttled, "");
}

TEST_F(HealthTest, TheLoadSinceTheLastReading) {
  HealthReader reader("lab/cpu", roots_);
  EXPECT_EQ(reader.read().load, std::nullopt);
  put("proc/stat", "cpu  120 10 130 840 100 0 0 0 0 0\n");  // 60 busy, 140 idle or waiting
  EXPECT_EQ(reader.read().load, 0.3);
  EXPECT_EQ(reader.read().load, std::nullopt) << "no time has passed";
}

TEST_F(HealthTest, AMachineThatTellsNothing) {
  fs::remove_all(dir_ + "/proc");
  HealthReader reader("lab/cpu", roots_);
  reader.read();
  EXPECT_EQ(reader.read(), (wire::DeviceHealth{.device = "lab/cpu"}));
}

TEST_F(HealthTest, ReadsOnlyWhenNothingIsTimed) {
  const std::string path = dir_ + "/host.lock";
  setenv("HONE_HOST_LOCK", path.c_str(), 1);
  StatusOr<HostLock> lock = HostLock::open();
  ASSERT_TRUE(lock.ok());
  std::mutex mutex;
  std::condition_variable told;
  int readings = 0;
  HostLock::Hold timed = lock->exclusive();
  HealthWatch watch(HealthReader("lab/cpu", roots_), 0.001, [&](const wire::DeviceHealth& h) {
    EXPECT_EQ(h.device, "lab/cpu");
    const std::lock_guard guard(mutex);
    ++readings;
    told.notify_all();
  });
  std::unique_lock guard(mutex);
  EXPECT_FALSE(told.wait_for(guard, std::chrono::milliseconds(50), [&] { return readings > 0; }));
  timed.release();
  EXPECT_TRUE(told.wait_for(guard, std::chrono::seconds(60), [&] { return readings >= 3; }));
  guard.unlock();
  unsetenv("HONE_HOST_LOCK");
}

TEST(Device, NamesInstructionSetsAsPeopleDo) {
  std::string dir = ::testing::TempDir() + "hone-device-XXXXXX";
  dir = mkdtemp(dir.data());
  const auto features = [&](const std::string& text) {
    std::ofstream(dir + "/cpuinfo") << text;
    return cpu_features(dir + "/cpuinfo");
  };
  EXPECT_THAT(features("flags\t\t: fpu sse4_2 avx avx2 fma f16c avx512f avx512_vnni lm\nflags : avx\n"),
              ::testing::ElementsAre("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512_vnni"));
  EXPECT_THAT(features("Features\t: fp asimd evtstrm asimddp i8mm\n"),
              ::testing::ElementsAre("neon", "dotprod", "i8mm"));
  EXPECT_THAT(features("model name : x\n"), ::testing::IsEmpty());
  fs::remove_all(dir);
}

}  // namespace
}  // namespace hone::agent
