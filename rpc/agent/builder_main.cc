// hone-builder: started by the device agent, which talks to it over file descriptor 3. The only one of the agent's processes with LLVM.
#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "base/child_process.h"
#include "base/log.h"
#include "compiler/codegen/llvm/candidate_compiler.h"
#include "compiler/codegen/llvm/compile.h"
#include "rpc/agent/builder.h"
#include "rpc/agent/frames.h"
#include "rpc/agent/host_lock.h"
#include "rpc/agent/sandbox.h"

namespace hone::agent {
namespace {

// A conv2d candidate takes about 150 MB; what wants more than this is not worth compiling.
constexpr uint64_t kAddressSpace = uint64_t{6} << 30;
constexpr uint64_t kFileBytes = uint64_t{256} << 20;

Status serve(int threads) {
  HONE_ASSIGN_OR_RETURN(HostLock lock, HostLock::open());
  BuilderHello hello;
  hello.target = to_string(host_target(threads));
  hello.version = codegen_version();
  hello.missing = enter_sandbox();
  set_limits({.address_space = kAddressSpace, .cpu_seconds = 0, .file_bytes = kFileBytes, .open_files = 64});
  if (!SyscallFilter::for_builder().apply()) hello.missing.push_back("seccomp");
  HONE_RETURN_IF_ERROR(send_frame(kChildChannel, FrameKind::kBuilderHello, hello));
  CandidateCompiler compiler;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const Frame frame, receive_frame(kChildChannel));
    if (frame.kind != FrameKind::kBuildRequest) return absl::InternalError(fmt::format("unexpected frame {}", static_cast<int>(frame.kind)));
    HONE_ASSIGN_OR_RETURN(const BuildRequest request, from_bytes<BuildRequest>(frame.payload));
    const HostLock::Hold hold = lock.shared();
    HONE_RETURN_IF_ERROR(send_frame(kChildChannel, FrameKind::kBuildStarted));
    HONE_RETURN_IF_ERROR(send_frame(kChildChannel, FrameKind::kBuildReply, build_module(request, compiler)));
  }
}

}  // namespace
}  // namespace hone::agent

int main(int argc, char** argv) {
  hone::init_log("hone-builder");
  if (argc != 2 || std::atoi(argv[1]) < 1) {
    std::cerr << "hone-builder: started by device-agent, not by hand\n";
    return 2;
  }
  const hone::Status status = hone::agent::serve(std::atoi(argv[1]));
  if (absl::IsUnavailable(status)) return 0;  // the agent has gone
  std::cerr << "hone-builder: " << hone::message_of(status) << "\n";
  return 70;
}
