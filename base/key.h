// Keys: the texts by which databases find measurements. docs/keys.md has their grammar, with the use of each part and
// which parts a version builds; this is the one place that splits them.
//
// Reading takes blanks around parts and ranges of one number; printing gives the canonical text, so that
// print(parse(t)) == t for a canonical t. Errors are InvalidArgument, one line: what, where, what is allowed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace hone {

inline constexpr size_t kMostKeyBytes = size_t{64} << 10;  ///< of a key
inline constexpr size_t kMostKeyParts = 1024;              ///< attributes, knobs or flags of a key
inline constexpr int kMostKeyDepth = 8;                    ///< brackets in brackets

/// An extent: a number, or every one from `least` to `most` (0 to 2^63 - 1).
struct KeyRange {
  int64_t least = 0, most = 0;
  bool operator==(const KeyRange&) const = default;
};
/// `128`, `1..512`, `1..8x64x56`: at least one.
using KeyExtents = std::vector<KeyRange>;
/// Extents where it has their form, else a text that only its attribute understands: `f32`, `bias+relu`, `-0.75`.
using KeyItem = std::variant<std::string, KeyExtents>;
/// The items of a list that colons join (`bf16:bf16:f32:f32`); most values have one.
using KeyValue = std::vector<KeyItem>;

struct KeyAttribute {
  std::string name;
  KeyValue value;
  bool operator==(const KeyAttribute&) const = default;
};

/// `dense(m=128,n=768,k=768,dtype=f32,epilogue=none)`. One named `op` is of an operator that users define: its first
/// attributes are `name` and `def`, a key hash.
struct WorkloadKey {
  std::string name;
  std::vector<KeyAttribute> attributes;
  bool operator==(const WorkloadKey&) const = default;
};

/// `tile_m=8,tile_n=4x16`: a template's choices, by knob; none: it has no knobs. A knob may stand without a value: ''.
using KeyKnobs = std::vector<std::pair<std::string, std::string>>;
/// `text(HASH)`, `text(HASH,threads=128)`: a kernel whose text a user wrote.
struct TextConfig {
  std::string hash;  ///< key_hash() of the text
  KeyKnobs knobs;
  bool operator==(const TextConfig&) const = default;
};
/// `vendor(cublas,12.4.5)`, `vendor(cublaslt,12.4.5,algorithm=21)`: a kernel of a library.
struct VendorConfig {
  std::string library, version;
  KeyKnobs knobs;
  bool operator==(const VendorConfig&) const = default;
};
using ConfigKey = std::variant<KeyKnobs, TextConfig, VendorConfig>;

/// `cuda -arch=sm_90 -sms=132`: a kind, and flags with their dashes.
struct TargetKey {
  std::string kind;
  KeyKnobs flags;
  bool operator==(const TargetKey&) const = default;
};

/// The configs that a space has: `text` and `vendor` are spaces of their own, others are a template's fingerprint.
enum class SpaceKind : uint8_t { kTemplate, kText, kVendor };

StatusOr<WorkloadKey> parse_workload_key(std::string_view text);
/// The same from `name` and the text between the parentheses.
StatusOr<WorkloadKey> parse_workload_key(std::string_view name, std::string_view attributes);
StatusOr<ConfigKey> parse_config_key(std::string_view text);
StatusOr<TargetKey> parse_target_key(std::string_view text);
StatusOr<SpaceKind> parse_space_key(std::string_view text);

std::string to_string(const KeyValue& value);
std::string to_string(const WorkloadKey& key);
std::string to_string(const ConfigKey& key);
std::string to_string(const TargetKey& key);

/// Whether an extent of it is a range of several numbers.
bool has_range(const KeyValue& value);
/// The space that configs of this kind stand in.
SpaceKind space_of(const ConfigKey& config);

/// A definition's name in keys: 32 hexadecimal digits of secure_hash(). Twelve would be enough against accidents, but
/// whoever makes a second definition for a known hash has his code run in the place of another's.
std::string key_hash(std::string_view definition);
bool is_key_hash(std::string_view text);

/// The first word of a workload's and of a target's text, whatever follows: `conv2d`, `llvm`.
std::string_view workload_name(std::string_view workload);
std::string_view target_kind(std::string_view target);

}  // namespace hone
