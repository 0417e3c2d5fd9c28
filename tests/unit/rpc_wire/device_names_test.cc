#include "rpc/wire/messages/device_names.h"

#include <gtest/gtest.h>

namespace hone::wire {
namespace {

DeviceStatus device(const std::string& agent, const std::string& state) {
  DeviceStatus out;
  out.agent = agent;
  out.info.key = agent + "/cpu";
  out.info.target = "llvm";
  out.info.labels = {{"room", "lab"}};
  out.state = state;
  return out;
}

TEST(DeviceNames, AreDevicesAgentsAndLabels) {
  const DeviceStatus one = device("lab1", "idle");
  for (const char* name : {"lab1", "lab1/cpu", "room=lab"}) EXPECT_TRUE(is_called(one, name)) << name;
  for (const char* name : {"", "lab", "lab1/", "room", "room=", "floor=1"}) EXPECT_FALSE(is_called(one, name)) << name;
}

TEST(DeviceNames, OfNobodyNameThoseThatThereAre) {
  std::vector<DeviceStatus> devices = {device("lab1", "idle"), device("lab2", "busy")};
  EXPECT_EQ(about_devices_called("lab9", devices),
            "no device, agent or label is called 'lab9'; there are: lab1/cpu, lab2/cpu");
  EXPECT_EQ(about_devices_called("lab9", {}), "no device, agent or label is called 'lab9'; there is no device");
  devices.assign(20, device("lab1", "idle"));
  EXPECT_TRUE(about_devices_called("lab9", devices).ends_with(", lab1/cpu and 4 more"));
}

TEST(DeviceNames, OfALostOneSaySinceWhen) {
  DeviceStatus lost = device("lab9", "lost"), set_aside = device("lab8", "quarantined");
  lost.lost_s = 14 * 60;
  set_aside.why = "by hand";
  const std::vector<DeviceStatus> devices = {set_aside, lost};
  EXPECT_EQ(about_devices_called("lab9", devices), "lab9/cpu (target 'llvm') is lost for 14 min");
  EXPECT_EQ(about_devices_called("room=lab", devices),
            "lab8/cpu (target 'llvm') is quarantined (by hand), lab9/cpu (target 'llvm') is lost for 14 min");
}

}  // namespace
}  // namespace hone::wire
