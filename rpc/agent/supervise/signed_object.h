// Objects that another machine has built: the statement that their builder signs, and a board's checks before loading.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "rpc/wire/access/signature.h"
#include "rpc/wire/messages/messages.h"

namespace hone::agent {

/// A board's request.
struct AskedObject {
  std::string module_sha256;  ///< 32 bytes, of the module's bytes
  wire::BuildPayload build;
};

/// Whether a build ended so because of its module: rejected, build_failed, build_timeout.
bool is_of_the_module(wire::ResultStatus status);

/// How long a signature is good for, in seconds. A board's nonce makes it fresh already; this ends what a board's
/// memory of its nonces does not reach.
inline constexpr int64_t kSignatureSeconds = 600;

/// The most bytes of a refusal's message that are kept.
inline constexpr size_t kMostRefusal = 1024;

/// Signs: SHA-256 of the module, target, code generator, nonce, expiry, SHA-256 of the object and of its description.
/// `now` in seconds since 1970; `built.expires` and `built.signature` are set.
void sign(const wire::SigningKey& key, const AskedObject& asked, int64_t now, wire::SignedObject& built);

/// Signs that the module could not be built: as sign(), of `why`'s status and message in place of the object.
/// `why.message` becomes what arrives: one line of at most kMostRefusal bytes. A module that takes a compiler's time or
/// memory costs a board most, so a board should not try each again; but a failure is stored with the trial for ever, so
/// only the holder of the key may cause one.
void sign_refusal(const wire::SigningKey& key, const AskedObject& asked, int64_t now, wire::CandidateResult& why,
                  wire::SignedObject& built);
/// As check_signed(), of a refusal.
Status check_refusal(const wire::PublicKey& key, const AskedObject& asked, int64_t now,
                     const wire::CandidateResult& why, const wire::SignedObject& built);

/// Ok when the owner of `key` signed `built` as the answer to `asked`, and the signature is still good.
/// PermissionDenied with the reason otherwise, one line.
Status check_signed(const wire::PublicKey& key, const AskedObject& asked, int64_t now, const wire::SignedObject& built);

}  // namespace hone::agent
