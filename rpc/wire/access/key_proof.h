// A device's proof that its agent has the private key that the device's label names.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "rpc/wire/access/signature.h"
#include "rpc/wire/messages/stream_messages.h"

namespace hone::wire {

/// The label of devices that build for boards: the fingerprint of the key that signs. Boards find them by it, so the
/// tracker lets a device carry it only once the key is proved.
inline constexpr std::string_view kBuilderKeyLabel = "builder-key";

/// Signs the tracker's challenge and the device's key, which begins with the agent's name: a proof serves no other
/// device, no other agent and no other connection.
KeyProof prove_key(const SigningKey& key, const std::string& challenge, const std::string& device);

/// Ok when the owner of the key called `fingerprint` signed `challenge` for the proof's device. PermissionDenied
/// otherwise, one line.
Status check_key_proof(const KeyProof& proof, const std::string& challenge, const std::string& fingerprint);

}  // namespace hone::wire
