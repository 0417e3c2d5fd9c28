#include "compiler/build/build.h"

namespace hone {

std::string hone_version() { return HONE_VERSION; }

}  // namespace hone
