// A hash for identities that others may try to forge.
#pragma once

#include <string_view>

#include "base/hash.h"

namespace hone {

/// The first 16 bytes of SHA-256 of `data`. It is infeasible to find other bytes with the hash of given ones. Two
/// strings with the same hash can be made with 2^64 tries, which harms only their author. Opens no file and makes no
/// system call, so that sandboxed processes may use it. Where only accidents matter, hash_bytes() is ten times faster.
Hash128 secure_hash(std::string_view data);

}  // namespace hone
