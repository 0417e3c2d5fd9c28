// Models' files as a fuzzer gives them.
#pragma once

#include <string>
#include <string_view>

#include "compiler/frontend/lowering/import_options.h"
#include "compiler/frontend/lowering/imported_model.h"
#include "compiler/ops/operator.h"

namespace hone::fuzz {

/// The bytes as a file, read by a format's reader; a graph that it gives is verified, printed and read again, and
/// rewritten by all passes.
void run_imported(std::string_view bytes, ImportedModel (*read)(const std::string& path, const OperatorTable& operators,
                                                                const ImportOptions& options));

}  // namespace hone::fuzz
