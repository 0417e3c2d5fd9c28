// Devices that build for boards carry the label builder-key, by which boards that trust the key find them and give them
// their modules. A device's claim counts once its agent's process has proved that it has the key.
#pragma once

#include <string>

#include "rpc/wire/messages/messages.h"

namespace hone::tracker {

struct KeyClaim {
  std::string fingerprint;  ///< of the key in the label; empty: the device has no such label
  bool proved = false;

  bool open() const { return !fingerprint.empty() && !proved; }
};

/// Takes the label off a device's description.
KeyClaim take_claim(wire::DeviceInfo& info);
/// Puts it back: it is proved.
void prove_claim(KeyClaim& claim, wire::DeviceInfo& info);

}  // namespace hone::tracker
