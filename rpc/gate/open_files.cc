#include "rpc/gate/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace hone::gate {
namespace {

// HTTP's connections (HttpLimits: 256, and 64 of probes), listeners, gRPC's own pipes and epolls, files that are read.
constexpr rlim_t kOthers = 416;

}  // namespace

size_t connections_that_fit(size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (limit.rlim_cur < wanted + kOthers && limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = std::min<rlim_t>(limit.rlim_max, wanted + kOthers);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return std::min<size_t>(wanted, limit.rlim_cur > kOthers ? limit.rlim_cur - kOthers : 0);
}

}  // namespace hone::gate
