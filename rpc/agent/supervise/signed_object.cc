#include "rpc/agent/supervise/signed_object.h"

#include <fmt/format.h>

#include "rpc/wire/messages/convert.h"

namespace hone::agent {
namespace {

// Each field with its length before it, so that no two answers make the same bytes. `head` tells objects from refusals.
std::string statement(std::string_view head, const AskedObject& asked, int64_t expires, std::string_view first,
                      std::string_view second) {
  std::string out(head);
  const auto add = [&](std::string_view field) {
    for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(uint64_t{field.size()} >> shift);
    out += field;
  };
  add(asked.module_sha256);
  add(asked.build.target);
  add(asked.build.codegen);
  add(asked.build.nonce);
  add(fmt::format("{}", expires));
  add(wire::sha256(first));
  add(wire::sha256(second));
  return out;
}

std::string statement(const AskedObject& asked, const wire::SignedObject& built) {
  return statement("hone object 1\n", asked, built.expires, built.object, built.info);
}

std::string statement(const AskedObject& asked, int64_t expires, const wire::CandidateResult& why) {
  return statement("hone refusal 1\n", asked, expires, wire::name(why.status), why.message);
}

Status check(const wire::PublicKey& key, const std::string& said, int64_t now, const wire::SignedObject& built) {
  if (!key.verifies(said, built.signature))
    return absl::PermissionDeniedError(
        fmt::format("it is not signed by the trusted key {} for what was asked", key.fingerprint()));
  if (built.expires < now)
    return absl::PermissionDeniedError(
        fmt::format("its signature was good until {} s ago; is the clock of this machine, or of the builder, right?",
                    now - built.expires));
  return absl::OkStatus();
}

}  // namespace

bool is_of_the_module(wire::ResultStatus status) {
  using enum wire::ResultStatus;
  return status == kRejected || status == kBuildFailed || status == kBuildTimeout;
}

void sign(const wire::SigningKey& key, const AskedObject& asked, int64_t now, wire::SignedObject& built) {
  built.expires = now + kSignatureSeconds;
  built.signature = key.sign(statement(asked, built));
}

void sign_refusal(const wire::SigningKey& key, const AskedObject& asked, int64_t now, wire::CandidateResult& why,
                  wire::SignedObject& built) {
  why.message = wire::clean_line(why.message, kMostRefusal);
  built.expires = now + kSignatureSeconds;
  built.signature = key.sign(statement(asked, built.expires, why));
}

Status check_signed(const wire::PublicKey& key, const AskedObject& asked, int64_t now,
                    const wire::SignedObject& built) {
  return check(key, statement(asked, built), now, built);
}

Status check_refusal(const wire::PublicKey& key, const AskedObject& asked, int64_t now,
                     const wire::CandidateResult& why, const wire::SignedObject& built) {
  return check(key, statement(asked, built.expires, why), now, built);
}

}  // namespace hone::agent
