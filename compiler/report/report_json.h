// Reports as JSON: `tensorc --report r.json`, and the data of a page.
#pragma once

#include <string>

#include "base/json.h"
#include "compiler/report/model_report.h"

namespace hone {

OrderedJson report_json(const ModelReport& report);

/// The report in `text`: JSON, or a page that has it. `name`: of the file, for errors. UserError, one line, for
/// anything else.
ModelReport parse_report(const std::string& text, const std::string& name);

}  // namespace hone
