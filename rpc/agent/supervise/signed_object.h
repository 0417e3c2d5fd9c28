// Objects that another machine has built: what their builder signs, and what a board checks before it loads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "rpc/wire/messages.h"
#include "rpc/wire/signature.h"

namespace hone::agent {

/// What a board asked for.
struct AskedObject {
  std::string module_sha256;  ///< 32 bytes, of the module's bytes
  wire::BuildPayload build;
};

/// How long a signature is good for, in seconds. A board's nonce makes it fresh already; this ends what a board's
/// memory of its nonces does not reach.
inline constexpr int64_t kSignatureSeconds = 600;

/// Signs: SHA-256 of the module, target, code generator, nonce, expiry, SHA-256 of the object and of its description.
/// `now` in seconds since 1970; `built.expires` and `built.signature` are set.
void sign(const wire::SigningKey& key, const AskedObject& asked, int64_t now, wire::SignedObject& built);

/// Ok when the owner of `key` signed `built` as the answer to `asked`, and the signature is still good.
/// PermissionDenied with the reason otherwise, one line.
Status check_signed(const wire::PublicKey& key, const AskedObject& asked, int64_t now, const wire::SignedObject& built);

}  // namespace hone::agent
