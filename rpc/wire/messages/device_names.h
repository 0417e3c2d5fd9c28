// Names by which people ask for devices: a device, an agent or a label k=v.
#pragma once

#include <string>
#include <vector>

#include "rpc/wire/messages/fleet_status.h"

namespace hone::wire {

/// Whether `name` is the device's, its agent's or a label of it.
bool is_called(const DeviceStatus& device, const std::string& name);

/// One line on why `name` brings no device that works: the state of the devices with that name, a lost one's with the
/// time; or that there is none, and which devices there are.
std::string about_devices_called(const std::string& name, const std::vector<DeviceStatus>& devices);
/// The same of all of them: `lab1/cpu (target 'llvm …') is draining (by hand)`.
std::string about_devices(const std::vector<DeviceStatus>& devices);

/// `12 s`, `14 min`, `3 h`, `2 d`.
std::string rough_time(double seconds);

}  // namespace hone::wire
