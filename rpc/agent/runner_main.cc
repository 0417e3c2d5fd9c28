// hone-runner: started by the device agent, which talks to it over file descriptor 3. Links neither LLVM nor gRPC.
// `hone-runner devices KIND...` says there which devices the drivers of those kinds offer, and ends.
#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/child_process.h"
#include "base/cpus.h"
#include "base/log.h"
#include "base/text.h"
#include "rpc/agent/device/device_candidates.h"
#include "rpc/agent/device/device_discovery.h"
#include "rpc/agent/pipe/frames.h"
#include "rpc/agent/run/forked_candidates.h"
#include "rpc/agent/run/runner.h"
#include "rpc/agent/sandbox/sandbox.h"

namespace hone::agent {
namespace {

// The only folder that the device's driver may write to.
StatusOr<std::string> driver_folder(const std::string& scratch) {
  const std::string folder = scratch + "/driver";
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return absl::InternalError(fmt::format("cannot make {}: {}", folder, strerror(errno)));
  return folder;
}

// Additional folders with drivers, named by the person who started the agent.
std::vector<std::string> library_folders() {
  std::vector<std::string> out;
  const char* path = std::getenv("LD_LIBRARY_PATH");
  std::istringstream words(path ? path : "");
  for (std::string word; std::getline(words, word, ':');)
    if (word.starts_with("/")) out.push_back(word);
  return out;
}

// Drivers differ, and a new one may need more than its row of the table allows. Where all candidates are trusted, a
// GPU's processes may run without Landlock and filters; the tracker and each trial then say so.
bool gpus_are_sandboxed() {
  const char* value = std::getenv("HONE_GPU_SANDBOX");
  return !value || std::string_view(value) != "off";
}

void add_missing(const std::vector<std::string>& more, std::vector<std::string>* missing) {
  for (const std::string& word : more)
    if (std::find(missing->begin(), missing->end(), word) == missing->end()) missing->push_back(word);
}

Status serve(const ChildArguments& arguments) {
  const DeviceSpec& device = arguments.device;
  HONE_ASSIGN_OR_RETURN(HostLock lock, HostLock::open());
  std::optional<HostLock> device_lock;
  if (device.is_gpu()) {
    HONE_ASSIGN_OR_RETURN(const std::string path, HostLock::default_path());
    HONE_ASSIGN_OR_RETURN(HostLock opened, HostLock::open(fmt::format("{}.{}", path, device_name(device))));
    device_lock.emplace(std::move(opened));
  }
  RunnerOptions options;
  options.threads = arguments.threads;
  options.cpus = usable_cpus();
  const CpuAccountFile cpu_accounts;
  options.machine_cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  options.cpu_account = [&] { return cpu_accounts.read(); };
  options.memory_limit = arguments.memory;
  options.cache_bytes = std::min<int64_t>(options.cache_bytes, static_cast<int64_t>(options.memory_limit / 4));
  RunnerHello hello{enter_sandbox(), {}};
  const SandboxProfile& candidate = *sandbox_profile("llvm", SandboxRole::kCandidate);
  Confinement confinement{FileRules(candidate, arguments.folder), SyscallFilter::for_profile(candidate),
                          SyscallFilter::no_more_loading()};
  const bool sandboxed = !device.is_gpu() || gpus_are_sandboxed();
  std::string folder;
  std::optional<PreparedSandbox> of_device;
  const std::vector<std::string> libraries = device.is_gpu() ? library_folders() : std::vector<std::string>();
  if (device.is_gpu()) {
    HONE_ASSIGN_OR_RETURN(folder, driver_folder(arguments.folder));
    if (sandboxed)
      of_device.emplace(*sandbox_profile(target_kind_of(device.kind), SandboxRole::kCandidate), folder, libraries);
  }
  if (sandboxed) {
    confine(*sandbox_profile(target_kind_of(device.kind), SandboxRole::kRunner), arguments.folder, &hello.missing,
            libraries);
    confinement.filters = std::find(hello.missing.begin(), hello.missing.end(), "seccomp") == hello.missing.end();
  } else {
    add_missing({"landlock", "seccomp"}, &hello.missing);
  }
  StatusOr<SharedMemory> probe = SharedMemory::make(1);
  if (!probe.ok() || !probe->make_read_only()) hello.missing.push_back("sealed memory");
  std::unique_ptr<CandidatePlace> place;
  if (device.is_gpu()) {
    auto on_device = std::make_unique<DeviceCandidates>(device, folder, std::move(of_device), kChildChannel,
                                                        DeviceCandidates::kMostFolderBytes, arguments.memory);
    const StatusOr<DeviceHello> opened = on_device->open();
    if (opened.ok())
      add_missing(opened->missing, &hello.missing);
    else
      hello.error = message_of(opened.status()) +
                    (sandboxed ? " (if it works outside of the agent, its driver may need more than the "
                                 "sandbox allows: HONE_GPU_SANDBOX=off runs it without)"
                               : "");
    place = std::move(on_device);
  } else {
    place = std::make_unique<ForkedCandidates>(options.memory_limit, kChildChannel);
  }
  Runner runner(options, *place, lock, device_lock ? &*device_lock : nullptr, confinement, kChildChannel);
  HONE_RETURN_IF_ERROR(send_frame(kChildChannel, FrameKind::kRunnerHello, hello));
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const Frame frame, receive_frame(kChildChannel));
    switch (frame.kind) {
      case FrameKind::kRunRequest: {
        HONE_ASSIGN_OR_RETURN(RunRequest request, from_bytes<RunRequest>(frame.payload));
        HONE_RETURN_IF_ERROR(send_frame(kChildChannel, FrameKind::kRunReply, runner.run(std::move(request))));
        break;
      }
      case FrameKind::kCancel: break;  // the run it meant had just ended
      default: return absl::InternalError(fmt::format("unexpected frame {}", static_cast<int>(frame.kind)));
    }
  }
}

}  // namespace
}  // namespace hone::agent

int main(int argc, char** argv) {
  hone::init_log("hone-runner");
  if (argc > 2 && std::string_view(argv[1]) == "devices") {
    std::vector<hone::agent::DeviceKind> kinds;
    for (int i = 2; i < argc; ++i)
      if (const auto kind = hone::agent::device_kind_of(argv[i])) kinds.push_back(*kind);
    const bool said =
        send_frame(hone::kChildChannel, hone::agent::FrameKind::kDeviceList, hone::agent::find_devices(kinds)).ok();
    _exit(said ? 0 : 70);  // drivers' threads and exit handlers have nothing to do here
  }
  const auto arguments = hone::agent::parse_child_arguments(argc, argv);
  if (!arguments) {
    std::cerr << "hone-runner: started by device-agent, not by hand\n";
    return 2;
  }
  const hone::Status status = hone::agent::serve(*arguments);
  if (absl::IsUnavailable(status)) return 0;  // the agent has gone
  std::cerr << "hone-runner: " << hone::clean_line(hone::message_of(status)) << "\n";
  return 70;
}
