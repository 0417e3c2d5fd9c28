#include "rpc/wire/messages/uuid.h"

#include <random>

namespace hone::wire {

Uuid Uuid::random() {
  std::random_device entropy;
  Uuid uuid;
  for (size_t i = 0; i < uuid.value.size(); i += 4) {
    const uint32_t word = entropy();
    std::memcpy(uuid.value.data() + i, &word, 4);
  }
  uuid.value[6] = (uuid.value[6] & 0x0f) | 0x40;
  uuid.value[8] = (uuid.value[8] & 0x3f) | 0x80;
  return uuid;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  Uuid uuid;
  size_t digits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (c != '-') return std::nullopt;
      continue;
    }
    int digit;
    if (c >= '0' && c <= '9')
      digit = c - '0';
    else if (c >= 'a' && c <= 'f')
      digit = c - 'a' + 10;
    else
      return std::nullopt;
    uint8_t& byte = uuid.value[digits / 2];
    byte = static_cast<uint8_t>(digits % 2 == 0 ? digit << 4 : byte | digit);
    ++digits;
  }
  return uuid;
}

std::optional<Uuid> Uuid::from_bytes(std::string_view bytes) {
  Uuid uuid;
  if (bytes.size() != uuid.value.size()) return std::nullopt;
  std::memcpy(uuid.value.data(), bytes.data(), bytes.size());
  return uuid;
}

std::string Uuid::text() const {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(36);
  for (size_t i = 0; i < value.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += kHex[value[i] >> 4];
    out += kHex[value[i] & 15];
  }
  return out;
}

}  // namespace hone::wire
