// A fleet's devices for tensorc, and the flags that name them.
#pragma once

#include <memory>

#include "base/status.h"
#include "compiler/cli/tensorc_flags.h"

namespace hone {

/// Where Hone is built without a fleet (HONE_WITH_FLEET=OFF) the flags are there, and each is refused in one line.
class TensorcFleet {
 public:
  /// Adds the flags to `line`, which outlives this.
  explicit TensorcFleet(CommandLine& line);
  ~TensorcFleet();

  /// Once the flags are read: what they name goes to `o` (read_before, remote), which refers to this.
  Status apply(TensorcOptions& o) const;

 private:
  struct Flags;
  std::unique_ptr<Flags> flags_;
};

}  // namespace hone
