#include "base/exit_code.h"

#include <utility>

namespace hone {
namespace {

constexpr char kExitCodeUrl[] = "hone/exit-code";

Status with_exit_code(absl::StatusCode code, std::string line, int exit_code) {
  Status status(code, std::move(line));
  status.SetPayload(kExitCodeUrl, absl::Cord(std::to_string(exit_code)));
  return status;
}

}  // namespace

Status usage_error(std::string line) {
  return with_exit_code(absl::StatusCode::kInvalidArgument, std::move(line), kExitUsage);
}
Status no_device_error(std::string line) {
  return with_exit_code(absl::StatusCode::kUnavailable, std::move(line), kExitNoDevice);
}
Status all_failed_error(std::string line) {
  return with_exit_code(absl::StatusCode::kAborted, std::move(line), kExitAllFailed);
}
Status database_error(std::string line) {
  return with_exit_code(absl::StatusCode::kDataLoss, std::move(line), kExitDatabase);
}
Status interrupted_error(std::string line) {
  return with_exit_code(absl::StatusCode::kCancelled, std::move(line), kExitInterrupted);
}

int exit_code_of(const Status& status) {
  if (status.ok()) return kExitDone;
  if (const auto payload = status.GetPayload(kExitCodeUrl)) return std::stoi(std::string(*payload));
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange: return kExitUsage;
    default: return kExitInternal;
  }
}

}  // namespace hone
