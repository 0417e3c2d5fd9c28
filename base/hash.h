// A 128-bit content hash, the same on every platform.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

struct Hash128 {
  uint64_t high = 0, low = 0;

  auto operator<=>(const Hash128&) const = default;
  /// 32 lower-case hexadecimal digits, high half first.
  std::string hex() const;
  /// 16 bytes, big-endian: the form that crosses the wire.
  std::string bytes() const;
  /// Reverses bytes(); a zero hash when `bytes` is not 16 long.
  static Hash128 from_bytes(std::string_view bytes);
};

/// XXH3-128 of `data`. Not for secrets.
Hash128 hash_bytes(std::string_view data);

}  // namespace hone

template <>
struct std::hash<hone::Hash128> {
  size_t operator()(const hone::Hash128& h) const { return h.low ^ (h.high * 0x9e3779b97f4a7c15ULL); }
};
