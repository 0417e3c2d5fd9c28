// The operators of a request's user.
#pragma once

#include <memory>

#include "compiler/driver/request/model_request.h"
#include "compiler/ops/operator.h"
#include "compiler/users/user_operators.h"

namespace hone {

/// Those of the request's files, of its caller and of its replacements; null where it has none. Their definitions
/// become known to `operators`. UserError as UserOperators::read(), and for a replacement by an operator that nobody
/// defines.
std::shared_ptr<UserOperators> users_of(const ModelRequest& request, const OperatorTable& operators);

/// The files in which the operators that the request's caller answers for are written, each once: those that it says.
std::vector<std::string> files_of_answers(const ModelRequest& request);

}  // namespace hone
