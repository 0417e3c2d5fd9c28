// The builder's work: bytes of a module -> verified -> a shared object, or code for a GPU. Runs in a process of its
// own, because a hostile or unlucky module may crash or hang a compiler.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "compiler/codegen/llvm/candidate_compiler.h"
#include "rpc/agent/build/device_compiler.h"
#include "rpc/agent/pipe/protocol.h"

namespace hone::agent {

/// A builder's compilers, with the state they keep between modules.
struct Compilers {
  CandidateCompiler host;
  DeviceCompiler device;
  uint64_t memory_bytes = 0;  ///< memory that they may take, for messages; 0: no limit
};

/// Decodes, verifies, compiles and links. Never throws: rejected when the module is malformed, build_failed when code
/// generation or the linker fails. Accesses that the verifier cannot prove are compiled with a run-time check on CPUs,
/// and rejected on GPUs.
BuildReply build_module(const BuildRequest& request, Compilers& compilers);

/// The main loop of a builder process: enters its sandbox, says hello over kChildChannel, then answers each
/// BuildRequest by calling `build`. Returns why it ended: Unavailable when the agent has gone.
Status serve_builds(const ChildArguments& arguments,
                    const std::function<BuildReply(const BuildRequest&, Compilers&)>& build);

}  // namespace hone::agent
