// Mutations of Modules in their wire form: most keep the tables well-formed, so that they reach the verifier and the
// code behind it.
#pragma once

#include <random>

#include "ir.pb.h"

namespace hone::fuzz {

/// Changes `m` in one to four places: constants, operands, kinds, operators, types, scopes, extents, shapes, statements
/// dropped, doubled or swapped, header fields. The same for the same generator state.
void mutate(proto::IrModule* m, std::mt19937_64& rng);

}  // namespace hone::fuzz
