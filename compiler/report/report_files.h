// The files of `tensorc m.onnx --report FILE --compare FILE`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/report/model_report.h"

namespace hone {

/// Before anything is built: that each file can be a report; and the report of `compare` where it is not empty. Usage
/// errors, or UserError for a file that is no report.
StatusOr<std::optional<ModelReport>> check_report_flags(const std::vector<std::string>& reports,
                                                        const std::string& compare);

/// Writes `report`, compared with `before` where there is one, to each file: .json its data, others the page.
Status write_reports(const ModelReport& report, const std::optional<ModelReport>& before,
                     const std::vector<std::string>& files);

/// `2026-01-31 12:00`, UTC.
std::string time_now();
/// The system's name of this machine's CPU; empty when it has none.
std::string cpu_name();

}  // namespace hone
