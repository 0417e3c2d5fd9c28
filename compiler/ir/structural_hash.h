// The content hash of a Module: identity of jobs, blobs and records.
#pragma once

#include <string>

#include "base/hash.h"
#include "compiler/ir/module.h"

namespace hone {

/// 128 bits over a canonical byte encoding, variables and buffers numbered by first use and their names left out; the
/// same on every platform.
Hash128 content_hash(const Module& m);

/// The encoding of one function: functions with equal bytes are equal code. Variables and buffers that the body uses
/// but does not define are the function's shape_vars and params.
std::string canonical_bytes(const Function& f);

}  // namespace hone
