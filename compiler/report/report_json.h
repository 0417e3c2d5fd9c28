// Reports as JSON: `tensorc --report r.json`, and the data of a page.
#pragma once

#include <string>

#include "base/json.h"
#include "compiler/report/model_report.h"

namespace hone {

OrderedJson report_json(const ModelReport& report);

/// One line of JSON, with U+FFFD for bytes that are no UTF-8.
std::string json_line(const OrderedJson& j);

/// The report in `text`: JSON, or a page that has it. `name`: of the file, for errors. UserError, one line, for
/// anything else.
ModelReport parse_report(const std::string& text, const std::string& name);

}  // namespace hone
