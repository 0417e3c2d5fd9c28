// Files as sources of the lookup chain.
#pragma once

#include <memory>
#include <string>

#include "db/chain/source.h"

namespace hone::db {

enum class SourceFile : uint8_t {
  kTophub,   ///< a database that others may be writing
  kPackage,  ///< a database that nobody changes
  kExport,   ///< JSON lines; read when first asked
};

/// The file at `path`, opened when first asked, whose errors it then gives at each question. `trust`: of its rows where
/// no session on this very file measured them. A prefetch() opens nothing.
std::unique_ptr<Source> file_source(const std::string& path, SourceFile kind, Trust trust = Trust::kElsewhere);

}  // namespace hone::db
