#include "rpc/agent/build/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "base/check.h"
#include "base/child_process.h"
#include "base/clock.h"
#include "base/host_lock.h"
#include "compiler/arith/unproved_accesses.h"
#include "compiler/arith/verify.h"
#include "compiler/codegen/llvm/kernel/codegen_options.h"
#include "compiler/codegen/llvm/link/link.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "rpc/agent/pipe/frames.h"
#include "rpc/agent/sandbox/sandbox.h"
#include "rpc/ir/decode.h"

namespace hone::agent {
namespace {

using wire::ResultStatus;

BuildReply failed(ResultStatus status, const std::string& message) {
  BuildReply reply;
  reply.status = status;
  reply.message = message.substr(0, std::min(message.find('\n'), kMaxMessageText));
  return reply;
}

// Sizes that the runner allocates and copies by: they must not be taken on trust. verify() has checked layouts,
// parameters and prepacks.
ModuleInfo info_of(const Module& m) {
  ModuleInfo info;
  info.params = m.params;
  info.workspace_bytes = m.workspace_bytes;
  info.workers = m.workers;
  for (const Param& p : m.params)
    HONE_USER_CHECK(element_count(p.shape) > 0) << "parameter '" << p.name << "' has no elements";
  for (const Prepack& prepack : m.prepacks) {
    PrepackInfo& made = info.prepacks.emplace_back();
    made.param = static_cast<uint32_t>(prepack.param);
    for (const KernelArgument& a : kernel_arguments(m, made.param))
      made.tensors.push_back({a.dtype, element_count(a.shape)});
  }
  return info;
}

}  // namespace

namespace {

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  HONE_USER_CHECK(out.good()) << "the artifact could not be written";
}

}  // namespace

BuildReply build_module(const BuildRequest& request, Compilers& compilers) {
  const Clock::TimePoint start = SteadyClock().now();
  const auto spent = [&] { return std::chrono::duration<double>(SteadyClock().now() - start).count(); };
  const auto out_of_memory = [&] {
    return failed(
        ResultStatus::kBuildFailed,
        fmt::format("the compiler needs more memory than the {} MiB that it has here", compilers.memory_bytes >> 20));
  };
  Module module;
  BuildReply reply;
  CodegenOptions options;
  Target target;
  try {
    target = Target::parse(request.target);
    StatusOr<Module> decoded = decode(request.module);
    if (!decoded.ok()) return failed(ResultStatus::kRejected, message_of(decoded.status()));
    module = std::move(*decoded);
    const std::vector<Unproved> unproved = verify(module);
    if (target.is_gpu() && !unproved.empty()) throw UnprovedAccess(unproved);
    for (const Unproved& u : unproved) options.checked_accesses.push_back(u.node);
    reply.info = info_of(module);
  } catch (const UserError& e) {
    return failed(ResultStatus::kRejected, e.what());
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& e) {
    return failed(ResultStatus::kRejected, fmt::format("verifier: {}", e.what()));
  }
  try {
    if (target.is_gpu())
      write_file(request.output, to_bytes(compilers.device.compile(module, target)));
    else
      link_shared(compilers.host.compile(module, target, options), request.output, {.maps_file = true});
  } catch (const UnprovedAccess& e) {  // accesses that lost their proof in the passes
    return failed(ResultStatus::kRejected, e.what());
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& e) {
    return failed(ResultStatus::kBuildFailed, e.what());
  }
  reply.seconds = spent();
  return reply;
}

Status serve_builds(const ChildArguments& arguments,
                    const std::function<BuildReply(const BuildRequest&, Compilers&)>& build) {
  HONE_ASSIGN_OR_RETURN(HostLock lock, HostLock::open());
  Compilers compilers{CandidateCompiler(), DeviceCompiler(arguments.device), arguments.memory};
  BuilderHello hello;
  hello.target = to_string(host_target(arguments.threads));
  hello.version = codegen_version();
  hello.device_compiler = compilers.device.version();
  hello.missing = enter_sandbox();
  const MappedBytes mapped_bytes;  // it opens files that the sandbox closes
  confine(*sandbox_profile(target_kind_of(arguments.device.kind), SandboxRole::kBuilder), arguments.folder,
          &hello.missing, compilers.device.folders());
  // The process's own libraries, which all builders share, are not counted.
  if (const uint64_t mapped = mapped_bytes.now(); mapped > 0) set_limits({.address_space = mapped + arguments.memory});
  HONE_RETURN_IF_ERROR(send_frame(kChildChannel, FrameKind::kBuilderHello, hello));
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const Frame frame, receive_frame(kChildChannel));
    if (frame.kind != FrameKind::kBuildRequest)
      return absl::InternalError(fmt::format("unexpected frame {}", static_cast<int>(frame.kind)));
    HONE_ASSIGN_OR_RETURN(const BuildRequest request, from_bytes<BuildRequest>(frame.payload));
    const HostLock::Hold hold = lock.shared();
    HONE_RETURN_IF_ERROR(send_frame(kChildChannel, FrameKind::kBuildStarted));
    HONE_RETURN_IF_ERROR(send_frame(kChildChannel, FrameKind::kBuildReply, build(request, compilers)));
  }
}

}  // namespace hone::agent
