#include "rpc/gate/tokens.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "rpc/wire/access/secret_file.h"

namespace hone::gate {
namespace {

constexpr std::string_view kRoles[] = {"agent", "tuner", "admin"};
const std::set<std::string> kLimits = {"priority", "weight", "sessions", "bytes", "rows"};

constexpr size_t kLeastBytes = 1 << 20;

// All of `text`, within [least, most].
template <class T>
std::optional<T> number(std::string_view text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most))
    return std::nullopt;
  return value;
}

std::optional<size_t> byte_count(std::string_view text) {
  constexpr std::string_view kUnits = "KMG";
  int shift = 0;
  if (const size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
      unit != std::string_view::npos) {
    shift = 10 * (static_cast<int>(unit) + 1);
    text.remove_suffix(1);
  }
  const auto value = number<size_t>(text, 0, SIZE_MAX >> shift);
  if (!value || (*value << shift) < kLeastBytes) return std::nullopt;
  return *value << shift;
}

template <class T>
Status assign(std::string_view key, const std::optional<T>& value, const char* allowed, T* to) {
  if (!value) return absl::InvalidArgumentError(fmt::format("has a bad {}; allowed: {}", key, allowed));
  *to = *value;
  return absl::OkStatus();
}

// The words after the token. Their text is not told: it may be a part of a token that a blank fell into.
Status read_limits(const std::vector<std::string>& words, TokenEntry* entry) {
  TenantLimits* const out = &entry->limits;
  std::set<std::string> seen;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (equals == std::string::npos || !kLimits.contains(key))
      return absl::InvalidArgumentError(
          "has a word after the token that is not a limit; allowed: priority=, weight=, sessions=, bytes=, rows=");
    if (!seen.insert(key).second) return absl::InvalidArgumentError(fmt::format("gives {} twice", key));
    if (key == "priority")
      HONE_RETURN_IF_ERROR(assign(key, number<int32_t>(value, -1000, 1000), "-1000 to 1000", &out->priority));
    if (key == "weight")
      HONE_RETURN_IF_ERROR(assign(key, number<double>(value, 1e-6, 1e6), "0.000001 to 1000000", &out->weight));
    if (key == "sessions")
      HONE_RETURN_IF_ERROR(assign(key, number<size_t>(value, 1, 1'000'000), "1 to 1000000", &out->sessions));
    if (key == "bytes")
      HONE_RETURN_IF_ERROR(
          assign(key, byte_count(value), "1M or more; a number with an optional K, M or G", &out->bytes));
    if (key == "rows") {
      const bool known = value == "hidden" || value == "shared";
      HONE_RETURN_IF_ERROR(
          assign(key, known ? std::optional(value == "hidden") : std::nullopt, "hidden, shared", &entry->hides_rows));
    }
  }
  return absl::OkStatus();
}

StatusOr<TokenEntry> parse_line(const std::vector<std::string>& words) {
  if (words.size() < 3)
    return absl::InvalidArgumentError(
        fmt::format("has {} words; expected ROLE NAME TOKEN [key=value …]", words.size()));
  const auto role = parse_role(words[0]);
  if (!role) return absl::InvalidArgumentError("does not begin with a role; allowed: agent, tuner, admin");
  HONE_RETURN_IF_ERROR(wire::check_token(words[2]));
  TokenEntry out{*role, words[1], digest_of(words[2]), default_limits(*role)};
  HONE_RETURN_IF_ERROR(read_limits({words.begin() + 3, words.end()}, &out));
  return out;
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

TenantLimits default_limits(Role role) {
  if (role == Role::kAdmin) return {};
  return {.priority = 0, .weight = 10, .sessions = 256};
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
      if (other.digest == entry->digest)
        return absl::InvalidArgumentError(fmt::format("line {} repeats a token", number));
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

bool TokenTable::names_agent(const std::string& agent) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const TokenEntry& entry) { return entry.role == Role::kAgent && entry.name == agent; });
}

bool TokenTable::holds(const TokenEntry& entry) const {
  return std::find(entries_.begin(), entries_.end(), entry) != entries_.end();
}

}  // namespace hone::gate
