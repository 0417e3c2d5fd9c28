// The part of a build's lock beside its configs: versions, target, and all that changes the artifact.
#pragma once

#include "base/status.h"
#include "compiler/driver/place/build_place.h"
#include "db/lock/lock_file.h"

namespace hone {

/// The lock of a build before it is made: without configs, times and artifact. Reads the files that the request names
/// for their digests. InvalidArgument for one that cannot be read.
StatusOr<db::LockFile> lock_facts(const BuildRequest& request, const BuildPlace& place);

}  // namespace hone
