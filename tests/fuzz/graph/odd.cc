#include <cstdint>

#include "tests/fuzz/graph/target.h"

namespace hone::fuzz {

int64_t odd_number(std::mt19937_64& rng) {
  static constexpr int64_t kOdd[] = {0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     7,
                                     8,
                                     16,
                                     -1,
                                     -2,
                                     64,
                                     255,
                                     256,
                                     1 << 16,
                                     1 << 24,
                                     INT32_MAX,
                                     INT32_MIN,
                                     INT64_MAX,
                                     INT64_MIN,
                                     int64_t{1} << 32,
                                     int64_t{1} << 48,
                                     (int64_t{1} << 62) + 1};
  return rng() % 2 ? static_cast<int64_t>(rng() % 6) : kOdd[rng() % std::size(kOdd)];
}

std::string mutate_bytes(std::string bytes, std::mt19937_64& rng) {
  if (bytes.empty()) return std::string(1, static_cast<char>(rng()));
  const size_t at = rng() % bytes.size();
  switch (rng() % 4) {
    case 0: bytes.erase(at, 1 + rng() % 4); break;
    case 1: bytes.insert(at, bytes.substr(at, 1 + rng() % 8)); break;
    default: bytes[at] = static_cast<char>(rng()); break;
  }
  return bytes;
}

}  // namespace hone::fuzz
