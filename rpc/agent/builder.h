// The builder's work: bytes of a module -> verified -> a shared object. Runs in a process of its own, because a hostile or unlucky
// module may crash or hang LLVM.
#pragma once

#include "rpc/agent/protocol.h"

namespace hone {
class CandidateCompiler;
}

namespace hone::agent {

/// Decodes, verifies, compiles and links. Never throws: rejected when the module is malformed, build_failed when code generation or the
/// linker fails. Accesses that the verifier cannot prove are compiled with a run-time check. `compiler` knows what was
/// compiled before.
BuildReply build_module(const BuildRequest& request, CandidateCompiler& compiler);

}  // namespace hone::agent
