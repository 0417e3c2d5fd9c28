// A caller's graph passes (HoneGraphPasses), as the driver knows them. hone_compiler.h says what crosses the border.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/passes/user_pass.h"
#include "compiler/ops/operator.h"
#include "tuner/api/hone_compiler.h"

namespace hone::api {

/// A pass has said HONE_STOPPED: the call is to end. Not a std::exception, so that nothing takes it for a result.
struct PassStopped {};

/// The passes that come with a call, which may be null; they, and the operators, outlive the result. UserError for a
/// list that is none. Their graphs are parsed, and a UserError of that begins with the pass's name; they throw
/// PassStopped.
std::vector<UserPass> passes_of(const HoneCall* call, const OperatorTable& operators);

}  // namespace hone::api
