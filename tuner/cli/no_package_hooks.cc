#include "tuner/cli/package_hooks.h"

namespace hone {

db::PackageHooks package_hooks() { return {}; }

}  // namespace hone
