// The builder's work: bytes of a module -> verified -> a shared object. Runs in a process of its own, because a hostile or unlucky
// module may crash or hang LLVM.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "rpc/agent/protocol.h"

namespace hone {
class CandidateCompiler;
}

namespace hone::agent {

/// Decodes, verifies, compiles and links. Never throws: rejected when the module is malformed, build_failed when code generation or the
/// linker fails. Accesses that the verifier cannot prove are compiled with a run-time check. `compiler` knows what was
/// compiled before.
BuildReply build_module(const BuildRequest& request, CandidateCompiler& compiler);

/// A builder process's life: puts on its sandbox, says hello over kChildChannel, then answers each BuildRequest with what `build` makes of it.
/// Returns why it ended: Unavailable when the agent has gone. `folder`: where artifacts are written.
Status serve_builds(int threads, const std::string& folder, const std::function<BuildReply(const BuildRequest&, CandidateCompiler&)>& build);

}  // namespace hone::agent
