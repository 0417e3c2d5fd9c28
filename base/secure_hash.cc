// The one-shot SHA256() looks for providers and their settings on disk in OpenSSL 3; the calls below compute and do
// nothing else.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/secure_hash.h"

#include <openssl/sha.h>

#include "base/plain_file.h"

namespace hone {

Hash128 secure_hash(std::string_view data) {
  SHA256_CTX state;
  SHA256_Init(&state);
  SHA256_Update(&state, data.data(), data.size());
  char digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(reinterpret_cast<unsigned char*>(digest), &state);
  return Hash128::from_bytes({digest, 16});
}

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::string_view bytes) { SHA256_Update(&state_->context, bytes.data(), bytes.size()); }

std::string Sha256::hex() {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(digest, &state_->context);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char c : digest) out += kDigits[c >> 4], out += kDigits[c & 15];
  return out;
}

std::string sha256_hex(std::string_view data) {
  Sha256 hash;
  hash.add(data);
  return hash.hex();
}

StatusOr<std::string> sha256_of_file(const std::string& path) {
  constexpr int64_t kPart = int64_t{1} << 20;
  HONE_ASSIGN_OR_RETURN(const PlainFile file, PlainFile::open(path));
  Sha256 hash;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const std::string part, file.next(kPart));
    if (part.empty()) return hash.hex();
    hash.add(part);
  }
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace hone
