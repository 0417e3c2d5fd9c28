// Signatures and the network, for packages of records; a program without a fleet has neither.
#pragma once

#include "db/package/hooks.h"

namespace hone {

db::PackageHooks package_hooks();

}  // namespace hone
