// Many agents in one process, without a thread each: real streams over connections of their own, and no work behind
// them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "rpc/wire/client_options.h"
#include "rpc/wire/messages/messages.h"

namespace hone::bench {

struct SimOptions {
  wire::ClientOptions dial;
  uint32_t agents = 1;
  uint32_t slots = 16;     ///< leases an agent holds at a time
  uint32_t at_once = 256;  ///< connections being made at a time
  std::string target = "llvm -mcpu=test";
};

/// Answers each lease at once.
class SimAgents {
 public:
  /// `on_lease` is told of each lease when it arrives, on any thread.
  SimAgents(SimOptions options, std::function<void(const wire::Lease&)> on_lease);
  ~SimAgents();

  /// Connects them all; how many the tracker welcomed within `seconds`.
  uint32_t connect(double seconds);
  uint32_t connected() const;
  /// Streams that ended.
  uint32_t lost() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone::bench
