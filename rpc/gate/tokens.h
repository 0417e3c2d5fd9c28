// The tokens a tracker accepts: `ROLE NAME TOKEN [key=value …]` a line. Only their digests are kept.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rpc/gate/tenant.h"

namespace hone::gate {

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
  TenantLimits limits = {};  ///< the fields after the token: priority, weight, sessions, bytes
  bool hides_rows = false;   ///< rows=hidden: a team's tophub shows what it brings to itself and admins alone
  bool operator==(const TokenEntry&) const = default;
};

/// The limits of a line that sets none: a tuner's highest priority is 0, its weight at most 10, its sessions 256; an
/// admin has no limits.
TenantLimits default_limits(Role role);

class TokenTable {
 public:
  /// Blank lines and lines that begin with # are skipped. InvalidArgument, with the line's number and never its text,
  /// for a line that is not right, a token given twice, or no token at all. After the token: priority=N (-1000 to
  /// 1000), weight=W (0.000001 to 1000000), sessions=N (1 to 1000000), bytes=N with an optional K, M or G (powers of
  /// 1024; 1M or more), rows=hidden or rows=shared; each once, in any order.
  static StatusOr<TokenTable> parse(const std::string& text);

  /// The entry of `token`, or null. Takes as long for each token of the same length: every entry is compared, in
  /// constant time.
  const TokenEntry* find(std::string_view token) const;
  /// Whether exactly this entry is (still) in the table.
  bool holds(const TokenEntry& entry) const;
  /// Whether a line names exactly this agent.
  bool names_agent(const std::string& agent) const;
  size_t size() const { return entries_.size(); }

 private:
  std::vector<TokenEntry> entries_;
};

}  // namespace hone::gate
