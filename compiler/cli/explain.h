// `tensorc --explain`: why a config is as fast as it is.
#pragma once

#include <ostream>

#include "base/status.h"
#include "compiler/build/build.h"
#include "compiler/runtime/device.h"

namespace hone {

/// Prints the config's steps and loop form; per kernel operations, bytes, arithmetic intensity, registers and spills;
/// and, where `runs_here`, its time against the machine's roofline.
Status explain(const Workload& w, const Target& target, const Space& space, const Config& config, const Module& m,
               bool runs_here, std::ostream& out);

/// The same of a GPU's config: per launch its blocks, threads and shared memory, registers and spills where NVRTC
/// compiles for the target, and the warps that a multiprocessor holds; its time on `gpu`, or, where that is null,
/// `why_not`.
Status explain_gpu(const Workload& w, const Target& target, const Space& space, const Config& config, const Module& m,
                   Device* gpu, const std::string& why_not, std::ostream& out);

}  // namespace hone
