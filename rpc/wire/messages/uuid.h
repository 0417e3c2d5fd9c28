// 16 random bytes that name a session or an agent process.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace hone::wire {

struct Uuid {
  std::array<uint8_t, 16> value{};

  auto operator<=>(const Uuid&) const = default;
  /// A fresh version-4 uuid from the system's entropy.
  static Uuid random();
  /// Reads text(); nothing when `text` is not one.
  static std::optional<Uuid> parse(std::string_view text);
  /// Reverses bytes(); nothing unless `bytes` is 16 long.
  static std::optional<Uuid> from_bytes(std::string_view bytes);
  /// xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx in lower case.
  std::string text() const;
  /// The form that crosses the wire.
  std::string bytes() const { return std::string(reinterpret_cast<const char*>(value.data()), value.size()); }
  bool is_zero() const { return *this == Uuid{}; }
};

}  // namespace hone::wire

template <>
struct std::hash<hone::wire::Uuid> {
  size_t operator()(const hone::wire::Uuid& u) const {
    uint64_t a, b;
    std::memcpy(&a, u.value.data(), 8);
    std::memcpy(&b, u.value.data() + 8, 8);
    return a ^ (b * 0x9e3779b97f4a7c15ULL);
  }
};
