#include "tracker/fleet/key_claim.h"

#include "rpc/wire/access/key_proof.h"

namespace hone::tracker {

KeyClaim take_claim(wire::DeviceInfo& info) {
  const auto label = info.labels.find(std::string(wire::kBuilderKeyLabel));
  if (label == info.labels.end()) return {};
  KeyClaim out{label->second, false};
  info.labels.erase(label);
  return out;
}

void prove_claim(KeyClaim& claim, wire::DeviceInfo& info) {
  claim.proved = true;
  info.labels[std::string(wire::kBuilderKeyLabel)] = claim.fingerprint;
}

}  // namespace hone::tracker
