// Ends with the parent: the flag `--exit-with-parent` of tracker and device-agent.
#pragma once

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace hone::wire {

/// Calls `gone` on the context once the process that is our parent now has ended, no matter which of its threads
/// started us (PR_SET_PDEATHSIG goes by the thread). The watch ends with the object.
class ParentWatch {
 public:
  ParentWatch(boost::asio::io_context& context, std::function<void()> gone);
  ~ParentWatch();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone::wire
