#include "rpc/wire/messages/messages.h"

namespace hone::wire {

std::string_view name(ResultStatus status) {
  switch (status) {
    case ResultStatus::kOk: return "ok";
    case ResultStatus::kInvalidConfig: return "invalid_config";
    case ResultStatus::kRejected: return "rejected";
    case ResultStatus::kBuildFailed: return "build_failed";
    case ResultStatus::kBuildTimeout: return "build_timeout";
    case ResultStatus::kRunFailed: return "run_failed";
    case ResultStatus::kRunTimeout: return "run_timeout";
    case ResultStatus::kWrongResult: return "wrong_result";
    case ResultStatus::kDeviceLost: return "device_lost";
    case ResultStatus::kCancelled: return "cancelled";
  }
  return "unknown";
}

std::optional<ResultStatus> parse_result_status(std::string_view text) {
  for (const ResultStatus status : kAllResultStatuses)
    if (name(status) == text) return status;
  return std::nullopt;
}

}  // namespace hone::wire
