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

Status serve(int threads, const std::string& folder) {
  HONE_ASSIGN_OR_RETURN(HostLock lock, HostLock::open());
  BuilderHello hello;
  hello.target = to_string(host_target(threads));
  hello.version = codegen_version();
  hello.missing = enter_sandbox();
  confine(*sandbox_profile(DeviceKind::kCpu, SandboxRole::kBuilder), folder, &hello.missing);
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
  if (argc != 3 || std::atoi(argv[1]) < 1) {
    std::cerr << "hone-builder: started by device-agent, not by hand\n";
    return 2;
  }
  const hone::Status status = hone::agent::serve(std::atoi(argv[1]), argv[2]);
  if (absl::IsUnavailable(status)) return 0;  // the agent has gone
  std::cerr << "hone-builder: " << hone::message_of(status) << "\n";
  return 70;
}
