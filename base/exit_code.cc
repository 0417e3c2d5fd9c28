#include "base/exit_code.h"

#include <iostream>
#include <sstream>

namespace hone {
namespace {

constexpr char kExitCodeUrl[] = "hone/exit-code";

Status with_exit_code(absl::StatusCode code, const std::string& line, int exit_code) {
  Status status(code, line);
  status.SetPayload(kExitCodeUrl, absl::Cord(std::to_string(exit_code)));
  return status;
}

}  // namespace

Status usage_error(const std::string& line) {
  return with_exit_code(absl::StatusCode::kInvalidArgument, line, kExitUsage);
}
Status no_device_error(const std::string& line) {
  return with_exit_code(absl::StatusCode::kUnavailable, line, kExitNoDevice);
}
Status all_failed_error(const std::string& line) {
  return with_exit_code(absl::StatusCode::kAborted, line, kExitAllFailed);
}
Status database_error(const std::string& line) {
  return with_exit_code(absl::StatusCode::kDataLoss, line, kExitDatabase);
}
Status differs_error(const std::string& line) {
  return with_exit_code(absl::StatusCode::kFailedPrecondition, line, kExitDiffers);
}
Status interrupted_error(const std::string& line) {
  return with_exit_code(absl::StatusCode::kCancelled, line, kExitInterrupted);
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

int print_end(const std::string& program, const CommandEnd& end) {
  if (end.code == kExitDone) {
    std::cout << end.text << std::flush;
    return end.code;
  }
  std::istringstream lines(end.text);
  for (std::string line; std::getline(lines, line);) std::cerr << program << ": " << line << "\n";
  std::cerr << std::flush;
  return end.code;
}

}  // namespace hone
