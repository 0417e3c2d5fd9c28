// `tensorc --explain`: why a config is as fast as it is.
#pragma once

#include <ostream>

#include "base/status.h"
#include "compiler/build.h"

namespace hone {

/// Prints the config's steps and loop form; per kernel operations, bytes, arithmetic intensity, registers and spills; and, where `runs_here`, its time against
/// the machine's roofline.
Status explain(const Workload& w, const Target& target, const Space& space, const Config& config, const Module& m, bool runs_here, std::ostream& out);

}  // namespace hone
