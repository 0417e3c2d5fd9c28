// Helpers shared by the convert*.cc files: one field each, checked.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/key.h"
#include "base/status.h"
#include "measure.pb.h"
#include "rpc/wire/messages/convert.h"
#include "tracker.pb.h"

namespace hone::wire::detail {

inline constexpr size_t kMaxName = 256;   // names, keys, labels
inline constexpr size_t kMaxText = 4096;  // targets, titles, messages

inline Status bad(std::string_view field, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("malformed message: {}: {}", field, why));
}

/// Whether a control character (C0, DEL or C1) is in it: no line of text is sent with one.
bool has_controls(std::string_view text);

inline Status check_text(std::string_view field, const std::string& value, size_t most) {
  if (value.size() > most) return bad(field, fmt::format("{} bytes, at most {} are allowed", value.size(), most));
  return has_controls(value) ? bad(field, "control characters are not allowed") : absl::OkStatus();
}

/// A target's text, of the grammar of keys: it finds devices, and rows of databases. Empty: none is said.
inline Status check_target(std::string_view field, const std::string& value, size_t most) {
  HONE_RETURN_IF_ERROR(check_text(field, value, most));
  if (value.empty()) return absl::OkStatus();
  const StatusOr<TargetKey> key = parse_target_key(value);
  return key.ok() ? absl::OkStatus() : bad(field, message_of(key.status()));
}

inline Status check_count(std::string_view field, size_t count, size_t most) {
  return count <= most ? absl::OkStatus() : bad(field, fmt::format("{} entries, at most {} are allowed", count, most));
}

/// Finite and within [0, most].
inline Status check_number(std::string_view field, double value, double most) {
  return std::isfinite(value) && value >= 0 && value <= most
             ? absl::OkStatus()
             : bad(field, fmt::format("{} is not between 0 and {}", value, most));
}

/// Latest date that is sent: the end of the year 9999.
inline constexpr double kMaxUnixSeconds = 253'402'300'799;

/// Exactly so many bytes.
inline Status check_size(std::string_view field, const std::string& bytes, size_t size) {
  if (bytes.size() == size) return absl::OkStatus();
  return bad(field, fmt::format("{} bytes instead of {}", bytes.size(), size));
}

/// Zero, which the wire leaves out, means `fallback`.
template <class T>
T or_default(T value, T fallback) {
  return value == T{} ? fallback : value;
}

/// `value` in the range of the wire: a huge number for NaN and infinity, 0 for negative ones.
inline double finite(double value) {
  if (std::isfinite(value) && value >= 0) return value;
  return std::isnan(value) || value > 0 ? 1e300 : 0;
}

StatusOr<Hash128> hash_from(std::string_view field, const std::string& bytes);
StatusOr<Uuid> uuid_from(std::string_view field, const std::string& bytes);
StatusOr<ResultStatus> status_from(int value);
StatusOr<DeviceInfo> device_from(const proto::DeviceInfo& in);
StatusOr<DeviceHealth> health_from(const proto::DeviceHealth& in);
StatusOr<MachineState> machine_from(const proto::MachineState& in);
StatusOr<std::vector<std::string>> names_from(std::string_view field,
                                              const google::protobuf::RepeatedPtrField<std::string>& in);
StatusOr<Summary> summary_from(const proto::Summary& in);
void device_to(const DeviceInfo& in, proto::DeviceInfo* out);
void health_to(const DeviceHealth& in, proto::DeviceHealth* out);
void machine_to(const MachineState& in, proto::MachineState* out);
void summary_to(const Summary& in, proto::Summary* out);

}  // namespace hone::wire::detail
