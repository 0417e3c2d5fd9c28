// The one-shot SHA256() looks for providers and their settings on disk in OpenSSL 3; the calls below compute and do
// nothing else.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/secure_hash.h"

#include <openssl/sha.h>

namespace hone {

Hash128 secure_hash(std::string_view data) {
  SHA256_CTX state;
  SHA256_Init(&state);
  SHA256_Update(&state, data.data(), data.size());
  char digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(reinterpret_cast<unsigned char*>(digest), &state);
  return Hash128::from_bytes({digest, 16});
}

}  // namespace hone
