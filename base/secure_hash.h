// A hash for identities that others may try to forge.
#pragma once

#include <string_view>

#include "base/hash.h"

namespace hone {

/// The first 16 bytes of SHA-256 of `data`. Nobody finds other bytes with the hash of given ones; two strings of one's
/// own with the same hash cost 2^64 tries, and harm nobody but oneself. Opens no file and asks the system for nothing,
/// so that processes in a sandbox may call it. Where only accidents matter, hash_bytes() is ten times faster.
Hash128 secure_hash(std::string_view data);

}  // namespace hone
