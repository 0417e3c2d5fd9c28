// How much a build may rely on a config, in the words of --min-confidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hone::db {

/// From low to high.
enum class Confidence : uint8_t {
  kDefault,    ///< nothing is known
  kNearest,    ///< a row of another target or another workload, adapted
  kElsewhere,  ///< an exact row of somebody else
  kTrusted,  ///< an exact row of a tenant that the reader trusts, of a signed package, or measured here but provisional
  kConfirmed,  ///< an exact row that a session on this very file confirmed
};

/// `default`, `nearest`, `elsewhere`, `trusted`, `confirmed`.
constexpr std::string_view to_string(Confidence c) {
  constexpr std::string_view kWords[] = {"default", "nearest", "elsewhere", "trusted", "confirmed"};
  return kWords[static_cast<size_t>(c)];
}

/// Null: none of the words.
constexpr std::optional<Confidence> parse_confidence(std::string_view word) {
  for (const Confidence c : {Confidence::kDefault, Confidence::kNearest, Confidence::kElsewhere, Confidence::kTrusted,
                             Confidence::kConfirmed})
    if (to_string(c) == word) return c;
  return std::nullopt;
}

}  // namespace hone::db
