#include "tracker/gate/tokens.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <sstream>

#include "rpc/wire/secret_file.h"

namespace hone::tracker {
namespace {

constexpr std::string_view kRoles[] = {"agent", "tuner", "admin"};

StatusOr<TokenEntry> parse_line(const std::vector<std::string>& words) {
  if (words.size() != 3) return absl::InvalidArgumentError(fmt::format("has {} words; ROLE NAME TOKEN is expected", words.size()));
  const auto role = parse_role(words[0]);
  if (!role) return absl::InvalidArgumentError("names no role; allowed: agent, tuner, admin");
  HONE_RETURN_IF_ERROR(wire::check_token(words[2]));
  return TokenEntry{*role, words[1], digest_of(words[2])};
}

}  // namespace

std::string_view name(Role role) { return kRoles[static_cast<size_t>(role)]; }

std::optional<Role> parse_role(std::string_view text) {
  const auto* found = std::find(std::begin(kRoles), std::end(kRoles), text);
  if (found == std::end(kRoles)) return std::nullopt;
  return static_cast<Role>(found - std::begin(kRoles));
}

Digest digest_of(std::string_view token) {
  Digest out;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), out.data());
  return out;
}

StatusOr<TokenTable> TokenTable::parse(const std::string& text) {
  TokenTable out;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream split(line);
    std::vector<std::string> words;
    for (std::string word; split >> word;) words.push_back(word);
    if (words.empty() || words[0][0] == '#') continue;
    auto entry = parse_line(words);
    if (!entry.ok()) return absl::InvalidArgumentError(fmt::format("line {} {}", number, message_of(entry.status())));
    for (const TokenEntry& other : out.entries_)
      if (other.digest == entry->digest) return absl::InvalidArgumentError(fmt::format("line {} repeats a token", number));
    out.entries_.push_back(*std::move(entry));
  }
  if (out.entries_.empty()) return absl::InvalidArgumentError("holds no token");
  return out;
}

const TokenEntry* TokenTable::find(std::string_view token) const {
  const Digest shown = digest_of(token);
  const TokenEntry* found = nullptr;
  for (const TokenEntry& entry : entries_)
    if (CRYPTO_memcmp(entry.digest.data(), shown.data(), shown.size()) == 0) found = &entry;
  return found;
}

bool TokenTable::holds(const TokenEntry& entry) const { return std::find(entries_.begin(), entries_.end(), entry) != entries_.end(); }

}  // namespace hone::tracker
