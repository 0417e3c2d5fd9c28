#include "rpc/wire/access/key_proof.h"

namespace hone::wire {
namespace {

// The challenge has a fixed size, so that no two pairs make the same bytes. Other signed texts begin differently.
std::string statement(const std::string& challenge, const std::string& device) {
  return "hone builder key 1\n" + challenge + device;
}

}  // namespace

KeyProof prove_key(const SigningKey& key, const std::string& challenge, const std::string& device) {
  return {device, key.public_key().raw(), key.sign(statement(challenge, device))};
}

Status check_key_proof(const KeyProof& proof, const std::string& challenge, const std::string& fingerprint) {
  if (challenge.size() != kNonceBytes)
    return absl::PermissionDeniedError("the tracker did not ask for a proof of a key");
  HONE_ASSIGN_OR_RETURN(const PublicKey key, PublicKey::from_raw(proof.public_key));
  if (key.fingerprint() != fingerprint)
    return absl::PermissionDeniedError("the proved key is not the one that the label names");
  if (!key.verifies(statement(challenge, proof.device), proof.signature))
    return absl::PermissionDeniedError("the challenge was not signed by the key that the label names");
  return absl::OkStatus();
}

}  // namespace hone::wire
