// Strings with the same XXH3 hash, constructed without a search: a long input is read as stripes of 64 bytes. From the
// first 8 bytes of a stripe the hash takes their sum over the stripes, and the product of their two halves, each mixed
// with a known number. Where one half equals that number the product is 0 for any other half, and two stripes whose
// other halves cancel leave the sum unchanged.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace hone {

/// `text` (of 300 bytes and more) with 8 bytes changed in each of its second and third stripes; all numbers `choice`
/// give the same hash_bytes(), also with the same `before` bytes (64 at most) in front of it.
inline std::string colliding(std::string text, uint32_t choice, size_t before = 0) {
  constexpr uint32_t kSecond = 0x2c81017c, kThird = 0xe96dd4de;  // of XXH3's default secret
  const uint64_t stripes[2] = {uint64_t{choice} << 32 | kSecond, uint64_t{0 - choice} << 32 | kThird};
  std::memcpy(text.data() + 64 - before, &stripes[0], 8);
  std::memcpy(text.data() + 128 - before, &stripes[1], 8);
  return text;
}

}  // namespace hone
