// The tokens a tracker accepts: `ROLE NAME TOKEN` a line. Only their digests are kept.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hone::tracker {

enum class Role { kAgent, kTuner, kAdmin };

/// agent, tuner, admin.
std::string_view name(Role role);
std::optional<Role> parse_role(std::string_view text);

/// SHA-256.
using Digest = std::array<unsigned char, 32>;
Digest digest_of(std::string_view token);

struct TokenEntry {
  Role role;
  std::string name;  ///< the agent it is bound to, or for people; `*`: any
  Digest digest;
  bool operator==(const TokenEntry&) const = default;
};

class TokenTable {
 public:
  /// Blank lines and lines that begin with # are skipped. InvalidArgument, with the line's number and never its text, for a line
  /// that is not right, a token given twice, or no token at all.
  static StatusOr<TokenTable> parse(const std::string& text);

  /// The entry of `token`, or null. Takes as long for each token of the same length: every entry is compared, in constant time.
  const TokenEntry* find(std::string_view token) const;
  /// Whether exactly this entry is (still) in the table.
  bool holds(const TokenEntry& entry) const;
  size_t size() const { return entries_.size(); }

 private:
  std::vector<TokenEntry> entries_;
};

}  // namespace hone::tracker
