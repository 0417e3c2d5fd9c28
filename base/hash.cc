#include "base/hash.h"

#include <xxhash.h>

namespace hone {

std::string Hash128::bytes() const {
  std::string out(16, '\0');
  for (int i = 0; i < 8; ++i) {
    out[i] = static_cast<char>(high >> (56 - 8 * i));
    out[8 + i] = static_cast<char>(low >> (56 - 8 * i));
  }
  return out;
}

Hash128 Hash128::from_bytes(std::string_view bytes) {
  Hash128 h;
  if (bytes.size() != 16) return h;
  for (int i = 0; i < 8; ++i) {
    h.high = h.high << 8 | static_cast<unsigned char>(bytes[i]);
    h.low = h.low << 8 | static_cast<unsigned char>(bytes[8 + i]);
  }
  return h;
}

std::string Hash128::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (unsigned char c : bytes()) {
    out += kDigits[c >> 4];
    out += kDigits[c & 15];
  }
  return out;
}

Hash128 hash_bytes(std::string_view data) {
  const XXH128_hash_t h = XXH3_128bits(data.data(), data.size());
  return {h.high64, h.low64};
}

}  // namespace hone
