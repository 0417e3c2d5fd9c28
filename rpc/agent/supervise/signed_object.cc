#include "rpc/agent/supervise/signed_object.h"

#include <fmt/format.h>

namespace hone::agent {
namespace {

// Each field with its length before it, so that no two answers make the same bytes.
std::string statement(const AskedObject& asked, const wire::SignedObject& built) {
  std::string out = "hone object 1\n";
  const auto add = [&](std::string_view field) {
    for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(uint64_t{field.size()} >> shift);
    out += field;
  };
  add(asked.module_sha256);
  add(asked.build.target);
  add(asked.build.codegen);
  add(asked.build.nonce);
  add(fmt::format("{}", built.expires));
  add(wire::sha256(built.object));
  add(wire::sha256(built.info));
  return out;
}

}  // namespace

void sign(const wire::SigningKey& key, const AskedObject& asked, int64_t now, wire::SignedObject& built) {
  built.expires = now + kSignatureSeconds;
  built.signature = key.sign(statement(asked, built));
}

Status check_signed(const wire::PublicKey& key, const AskedObject& asked, int64_t now,
                    const wire::SignedObject& built) {
  if (!key.verifies(statement(asked, built), built.signature))
    return absl::PermissionDeniedError(
        fmt::format("it is not signed by the trusted key {} as what was asked for", key.fingerprint()));
  if (built.expires < now)
    return absl::PermissionDeniedError(
        fmt::format("its signature was good until {} s ago; is the clock of this machine, or of the builder, right?",
                    now - built.expires));
  return absl::OkStatus();
}

}  // namespace hone::agent
