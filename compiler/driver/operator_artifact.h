// The forms of an operator that `--emit` writes: texts on the way to machine code, C, objects, a shared object.
#pragma once

#include <string>

#include "base/command_files.h"
#include "base/status.h"
#include "compiler/driver/prepared_operator.h"

namespace hone {

/// `m`: the operator's config, lowered. Writes request.output and the header beside it, all files or none, none of them
/// over one that `files` reads; or returns the text where the form is one and request.output is empty. Usage errors:
/// of a form that the target has not.
StatusOr<std::string> emit_operator(const BuildRequest& request, const PreparedOperator& op, const Module& m,
                                    CommandFiles files, const Events& events);

}  // namespace hone
