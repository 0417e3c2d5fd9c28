#include "base/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/secure_hash.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kText = "text", kVendor = "vendor";
constexpr size_t kMostSpaceBytes = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_character(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; }

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_word_character);
}

bool is_name(std::string_view text) { return is_word(text) && !is_digit(text[0]); }

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Errors show any text of unknown content in this form.
std::string shown(std::string_view text) { return short_line(text, 80); }

template <class... Args>
Status bad(fmt::format_string<Args...> form, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(form, std::forward<Args>(args)...));
}

Status check_size(std::string_view what, std::string_view text) {
  if (text.size() <= kMostKeyBytes) return absl::OkStatus();
  return bad("{} of {} bytes; at most {} are allowed", what, text.size(), kMostKeyBytes);
}

// The parts between separators; none of an empty text. Brackets hold colons together; a comma stands in none.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (text[i] != separator || (separator != ',' && depth > 0)) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// `where`: the kind of text, for errors.
Status check_characters(std::string_view where, std::string_view text, std::string_view besides = "") {
  int depth = 0;
  for (const char c : text) {
    if (c <= ' ' || c > '~' ||
        (std::string_view(",()\"'\\`").find(c) != std::string_view::npos && besides.find(c) == std::string_view::npos))
      return bad("{}={}: a character that no value has; allowed are letters, digits and signs but , ( ) \" ' ` \\",
                 where, shown(text));
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth < 0) break;
    if (depth > kMostKeyDepth)
      return bad("{}={}: more than {} brackets in each other", where, shown(text), kMostKeyDepth);
  }
  return depth == 0 ? absl::OkStatus() : bad("{}={}: its brackets do not match", where, shown(text));
}

// A canonical number.
std::optional<int64_t> number_of(std::string_view text) {
  int64_t value = 0;
  if (text.empty() || !is_digit(text[0]) || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// `128`, `1..512`; nothing where it has neither form.
std::optional<KeyRange> range_of(std::string_view text) {
  const size_t dots = text.find("..");
  const auto least = number_of(text.substr(0, dots));
  const auto most = dots == std::string_view::npos ? least : number_of(text.substr(dots + 2));
  return least && most ? std::optional(KeyRange{*least, *most}) : std::nullopt;
}

std::optional<KeyExtents> extents_of(std::string_view text) {
  KeyExtents extents;
  for (const std::string_view part : parts_of(text, 'x')) {
    const auto range = range_of(part);
    if (!range) return std::nullopt;
    extents.push_back(*range);
  }
  return extents;
}

bool has_dots(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0 && text.substr(i, 2) == "..") return true;
  }
  return false;
}

StatusOr<KeyValue> value_of(std::string_view where, std::string_view text) {
  HONE_RETURN_IF_ERROR(check_characters(where, text));
  KeyValue value;
  for (const std::string_view part : parts_of(text, ':')) {
    if (part.empty()) return bad("{}={}: nothing stands at a colon", where, shown(text));
    std::optional<KeyExtents> extents = extents_of(part);
    if (!extents && has_dots(part))
      return bad("{}={}: a range is LEAST..MOST, whole numbers up to 2^63 - 1", where, shown(text));
    if (!extents) {
      value.emplace_back(std::string(part));
      continue;
    }
    for (const KeyRange& r : *extents)
      if (r.least > r.most) return bad("{}={}: {}..{} is empty", where, shown(text), r.least, r.most);
    value.emplace_back(*std::move(extents));
  }
  return value;
}

// Names for the parts of a key in errors.
struct PairWords {
  std::string_view key;      // "dense", "config", "target"
  std::string_view part;     // "attribute"
  bool may_be_bare = false;  // `part` alone, without a value
};

// Splits `name=value` parts and passes each on; `add` gives its own errors.
template <class Add>
Status each_pair(const PairWords& words, std::vector<std::string_view> parts, const Add& add) {
  if (parts.size() > kMostKeyParts)
    return bad("{}: {} {}s; at most {} are allowed", words.key, parts.size(), words.part, kMostKeyParts);
  std::vector<std::string_view> seen;
  for (const std::string_view part : parts) {
    const size_t equals = part.find('=');
    const std::string_view name = trimmed(part.substr(0, equals));
    if (!is_name(name)) return bad("{}: '{}' is not of the form {}=value", words.key, shown(trimmed(part)), words.part);
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return bad("{}: {} '{}' is given twice", words.key, words.part, shown(name));
    seen.push_back(name);
    const std::string_view value = equals == std::string_view::npos ? "" : trimmed(part.substr(equals + 1));
    const bool is_bare = words.may_be_bare && equals == std::string_view::npos;
    if (value.empty() && !is_bare) return bad("{}: {} '{}' has no value", words.key, words.part, shown(name));
    HONE_RETURN_IF_ERROR(add(name, value));
  }
  return absl::OkStatus();
}

// An operator that users define says at its beginning which one it is: a prefix of the text finds all its rows.
Status check_operator(const WorkloadKey& key) {
  const auto text = [&](size_t i, std::string_view name) -> std::string {
    return i < key.attributes.size() && key.attributes[i].name == name ? to_string(key.attributes[i].value) : "";
  };
  if (is_name(text(0, "name")) && is_key_hash(text(1, "def"))) return absl::OkStatus();
  return bad("op: its first attributes are name=NAME and def=HASH, 32 lower-case hexadecimal digits");
}

StatusOr<KeyKnobs> knobs_of(std::vector<std::string_view> parts) {
  KeyKnobs knobs;
  HONE_RETURN_IF_ERROR(each_pair({"config", "knob", /*may_be_bare=*/true}, std::move(parts),
                                 [&](std::string_view name, std::string_view value) -> Status {
                                   HONE_RETURN_IF_ERROR(check_characters(fmt::format("config: {}", name), value));
                                   knobs.emplace_back(name, value);
                                   return absl::OkStatus();
                                 }));
  return knobs;
}

void print_pairs(std::string* out, const KeyKnobs& pairs, std::string_view separator) {
  for (const auto& [name, value] : pairs) {
    if (!out->empty()) *out += separator;
    *out += name;
    if (!value.empty()) *out += "=" + value;
  }
}

}  // namespace

StatusOr<WorkloadKey> parse_workload_key(std::string_view text) {
  HONE_RETURN_IF_ERROR(check_size("workload", text));
  const std::string_view whole = trimmed(text);
  const size_t open = whole.find('(');
  if (open == std::string_view::npos || whole.back() != ')')
    return bad("workload '{}' is not of the form task(attribute=value,...)", shown(whole));
  return parse_workload_key(whole.substr(0, open), whole.substr(open + 1, whole.size() - open - 2));
}

StatusOr<WorkloadKey> parse_workload_key(std::string_view name, std::string_view attributes) {
  HONE_RETURN_IF_ERROR(check_size("workload", attributes));
  WorkloadKey key{std::string(trimmed(name)), {}};
  if (!is_name(key.name) || key.name.size() > kMostKeyBytes)
    return bad("workload '{}': a task's name is letters, digits and _, no digit first", shown(key.name));
  HONE_RETURN_IF_ERROR(each_pair({key.name, "attribute"}, parts_of(trimmed(attributes), ','),
                                 [&](std::string_view attribute, std::string_view text) -> Status {
                                   HONE_ASSIGN_OR_RETURN(KeyValue value, value_of(attribute, text));
                                   key.attributes.push_back({std::string(attribute), std::move(value)});
                                   return absl::OkStatus();
                                 }));
  if (key.name == "op") HONE_RETURN_IF_ERROR(check_operator(key));
  return key;
}

StatusOr<ConfigKey> parse_config_key(std::string_view text) {
  HONE_RETURN_IF_ERROR(check_size("config", text));
  const std::string_view whole = trimmed(text);
  const size_t open = whole.find('(');
  if (open == std::string_view::npos) return knobs_of(parts_of(whole, ','));
  const std::string_view kind = trimmed(whole.substr(0, open));
  std::vector<std::string_view> parts;
  if (whole.back() == ')') parts = parts_of(whole.substr(open + 1, whole.size() - open - 2), ',');
  const size_t fixed = kind == kText ? 1 : 2;  // parts before the knobs
  if ((kind != kText && kind != kVendor) || parts.size() < fixed)
    return bad("config '{}' is none of knob=value,..., text(HASH) and vendor(LIBRARY,VERSION)", shown(whole));
  HONE_ASSIGN_OR_RETURN(KeyKnobs knobs, knobs_of({parts.begin() + static_cast<std::ptrdiff_t>(fixed), parts.end()}));
  const std::string first(trimmed(parts[0]));
  if (kind == kText) {
    if (!is_key_hash(first)) return bad("config '{}': a hash is 32 lower-case hexadecimal digits", shown(whole));
    return TextConfig{first, std::move(knobs)};
  }
  const std::string version(trimmed(parts[1]));
  const bool is_version = !version.empty() && std::all_of(version.begin(), version.end(), [](char c) {
    return is_word_character(c) || c == '.' || c == '-' || c == '+';
  });
  if (!is_name(first) || !is_version)
    return bad("config '{}': a library is a name, its version letters, digits and . _ - +", shown(whole));
  return VendorConfig{first, version, std::move(knobs)};
}

StatusOr<TargetKey> parse_target_key(std::string_view text) {
  HONE_RETURN_IF_ERROR(check_size("target", text));
  std::string_view rest = trimmed(text);
  TargetKey key{std::string(rest.substr(0, rest.find_first_of(kBlanks))), {}};
  if (!is_name(key.kind)) return bad("target '{}' does not begin with a kind, as llvm", shown(rest));
  while (!(rest = trimmed(rest.substr(std::min(rest.size(), rest.find_first_of(kBlanks))))).empty()) {
    const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
    const size_t equals = word.find('=');
    const std::string_view flag = word.substr(0, equals);
    const bool is_flag = flag.size() > 1 && flag[0] == '-' &&
                         std::all_of(flag.begin(), flag.end(), [](char c) { return is_word_character(c) || c == '-'; });
    if (!is_flag) return bad("target: '{}' is not of the form -flag=value", shown(word));
    if (equals == std::string_view::npos || equals + 1 == word.size())
      return bad("target: flag '{0}' needs a value: {0}=...", shown(flag));
    for (const auto& [other, value] : key.flags)
      if (other == flag) return bad("target: flag '{}' is given twice", shown(flag));
    HONE_RETURN_IF_ERROR(check_characters(fmt::format("target: {}", shown(flag)), word.substr(equals + 1), ","));
    key.flags.emplace_back(flag, word.substr(equals + 1));
    if (key.flags.size() > kMostKeyParts) return bad("target: more than {} flags", kMostKeyParts);
  }
  return key;
}

StatusOr<SpaceKind> parse_space_key(std::string_view text) {
  if (text == kText) return SpaceKind::kText;
  if (text == kVendor) return SpaceKind::kVendor;
  if (is_word(text) && text.size() <= kMostSpaceBytes) return SpaceKind::kTemplate;
  return bad("space '{}' is none of a fingerprint (letters, digits, _), text and vendor", shown(text));
}

std::string to_string(const KeyValue& value) {
  std::string out;
  const auto print = [&](const KeyExtents& extents) {
    for (size_t i = 0; i < extents.size(); ++i) {
      const auto& [least, most] = extents[i];
      out += i ? "x" : "";
      out += least == most ? fmt::format("{}", least) : fmt::format("{}..{}", least, most);
    }
  };
  for (size_t i = 0; i < value.size(); ++i) {
    out += i ? ":" : "";
    if (const auto* extents = std::get_if<KeyExtents>(&value[i]))
      print(*extents);
    else
      out += std::get<std::string>(value[i]);
  }
  return out;
}

std::string to_string(const WorkloadKey& key) {
  std::string attributes;
  for (const KeyAttribute& a : key.attributes)
    attributes += fmt::format("{}{}={}", attributes.empty() ? "" : ",", a.name, to_string(a.value));
  return fmt::format("{}({})", key.name, attributes);
}

std::string to_string(const ConfigKey& key) {
  std::string out;
  if (const auto* text = std::get_if<TextConfig>(&key)) {
    out = fmt::format("{}({}", kText, text->hash);
    print_pairs(&out, text->knobs, ",");
    return out + ")";
  }
  if (const auto* vendor = std::get_if<VendorConfig>(&key)) {
    out = fmt::format("{}({},{}", kVendor, vendor->library, vendor->version);
    print_pairs(&out, vendor->knobs, ",");
    return out + ")";
  }
  print_pairs(&out, std::get<KeyKnobs>(key), ",");
  return out;
}

std::string to_string(const TargetKey& key) {
  std::string out = key.kind;
  print_pairs(&out, key.flags, " ");
  return out;
}

bool has_range(const KeyValue& value) {
  return std::any_of(value.begin(), value.end(), [](const KeyItem& item) {
    const auto* extents = std::get_if<KeyExtents>(&item);
    return extents && std::any_of(extents->begin(), extents->end(), [](const KeyRange& r) { return r.least < r.most; });
  });
}

SpaceKind space_of(const ConfigKey& config) {
  return std::holds_alternative<TextConfig>(config)     ? SpaceKind::kText
         : std::holds_alternative<VendorConfig>(config) ? SpaceKind::kVendor
                                                        : SpaceKind::kTemplate;
}

std::string key_hash(std::string_view definition) { return secure_hash(definition).hex(); }

bool is_key_hash(std::string_view text) {
  return text.size() == 32 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

std::string_view workload_name(std::string_view workload) { return workload.substr(0, workload.find('(')); }

std::string_view target_kind(std::string_view target) { return target.substr(0, target.find(' ')); }

}  // namespace hone
