// Module -> bytes, which a tuner sends and content hashes name.
#pragma once

#include <string>

#include "compiler/ir/module.h"

namespace hone {

/// The bytes of proto/ir.proto's IrModule. The same for programs that are equal in structure and names, however their
/// nodes are shared: equal expressions are written once. decode() reverses it.
std::string encode(const Module& m);

}  // namespace hone
