// hone-runner: started by the device agent, which talks to it over file descriptor 3. Links neither LLVM nor gRPC.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/child_process.h"
#include "base/log.h"
#include "rpc/agent/frames.h"
#include "rpc/agent/runner.h"
#include "rpc/agent/sandbox.h"

namespace hone::agent {
namespace {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) cpus.push_back(i);
  return cpus;
}

uint64_t default_memory_limit() { return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2; }

Status serve(int threads, const std::string& scratch) {
  HONE_ASSIGN_OR_RETURN(HostLock lock, HostLock::open());
  RunnerOptions options;
  options.threads = threads;
  options.cpus = allowed_cpus();
  options.memory_limit = default_memory_limit();
  options.cache_bytes = std::min<int64_t>(options.cache_bytes, static_cast<int64_t>(options.memory_limit / 4));
  RunnerHello hello{enter_sandbox()};
  const SandboxProfile& candidate = *sandbox_profile(DeviceKind::kCpu, SandboxRole::kCandidate);
  Confinement confinement{FileRules(candidate, scratch), SyscallFilter::for_profile(candidate), SyscallFilter::no_more_loading()};
  confine(*sandbox_profile(DeviceKind::kCpu, SandboxRole::kRunner), scratch, &hello.missing);
  confinement.filters = std::find(hello.missing.begin(), hello.missing.end(), "seccomp") == hello.missing.end();
  StatusOr<SharedMemory> probe = SharedMemory::make(1);
  if (!probe.ok() || !probe->make_read_only()) hello.missing.push_back("sealed memory");
  Runner runner(options, lock, confinement, kChildChannel);
  HONE_RETURN_IF_ERROR(send_frame(kChildChannel, FrameKind::kRunnerHello, hello));
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const Frame frame, receive_frame(kChildChannel));
    switch (frame.kind) {
      case FrameKind::kRunRequest: {
        HONE_ASSIGN_OR_RETURN(const RunRequest request, from_bytes<RunRequest>(frame.payload));
        HONE_RETURN_IF_ERROR(send_frame(kChildChannel, FrameKind::kRunReply, runner.run(request)));
        break;
      }
      case FrameKind::kCancel: break;  // what it meant had just ended
      default: return absl::InternalError(fmt::format("unexpected frame {}", static_cast<int>(frame.kind)));
    }
  }
}

}  // namespace
}  // namespace hone::agent

int main(int argc, char** argv) {
  hone::init_log("hone-runner");
  if (argc != 3 || std::atoi(argv[1]) < 1) {
    std::cerr << "hone-runner: started by device-agent, not by hand\n";
    return 2;
  }
  const hone::Status status = hone::agent::serve(std::atoi(argv[1]), argv[2]);
  if (absl::IsUnavailable(status)) return 0;  // the agent has gone
  std::cerr << "hone-runner: " << hone::message_of(status) << "\n";
  return 70;
}
