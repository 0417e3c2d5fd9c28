#include "rpc/agent/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/child_process.h"
#include "base/clock.h"
#include "compiler/arith/verify.h"
#include "compiler/codegen/llvm/candidate_compiler.h"
#include "compiler/codegen/llvm/compile.h"
#include "rpc/agent/frames.h"
#include "rpc/agent/host_lock.h"
#include "rpc/agent/sandbox.h"
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

// What the runner allocates and copies by: nothing here may be taken on trust. verify() has checked layouts and parameters.
ModuleInfo info_of(const Module& m) {
  ModuleInfo info;
  info.params = m.params;
  info.workspace_bytes = m.workspace_bytes;
  info.workers = m.workers;
  for (const Param& p : m.params) {
    HONE_USER_CHECK(element_count(p.shape) > 0) << "parameter '" << p.name << "' has no elements";
    info.elements.push_back(p.layout.physical_size());
    info.prepack.push_back(-1);
  }
  for (size_t i = 0; i < m.prepacks.size(); ++i) {
    const Prepack& prepack = m.prepacks[i];
    HONE_USER_CHECK(prepack.param >= 0 && prepack.param < static_cast<int>(m.params.size()) && prepack.function.params.size() == 2)
        << "prepack " << i << " does not take a parameter and its packed form";
    const Param& param = m.params[static_cast<size_t>(prepack.param)];
    HONE_USER_CHECK(prepack.function.params[1]->dtype == param.dtype)
        << "prepack " << i << " packs '" << param.name << "' as " << to_string(prepack.function.params[1]->dtype)
        << "; here a packed tensor has its parameter's type, " << to_string(param.dtype);
    int64_t elements = 1;
    for (const Expr& extent : prepack.function.params[1]->shape) {
      const auto n = as_const_int(extent);
      HONE_USER_CHECK(n && *n > 0) << "prepack " << i << " makes a tensor of unknown size";
      elements *= *n;
    }
    info.elements[prepack.param] = elements;
    info.prepack[prepack.param] = static_cast<int32_t>(i);
  }
  return info;
}

}  // namespace

BuildReply build_module(const BuildRequest& request, CandidateCompiler& compiler) {
  const Clock::TimePoint start = SteadyClock().now();
  const auto spent = [&] { return std::chrono::duration<double>(SteadyClock().now() - start).count(); };
  Module module;
  BuildReply reply;
  CodegenOptions options;
  try {
    StatusOr<Module> decoded = decode(request.module);
    if (!decoded.ok()) return failed(ResultStatus::kRejected, message_of(decoded.status()));
    module = std::move(*decoded);
    for (const Unproved& u : verify(module)) options.checked_accesses.push_back(u.node);
    reply.info = info_of(module);
  } catch (const UserError& e) {
    return failed(ResultStatus::kRejected, e.what());
  } catch (const std::exception& e) {
    return failed(ResultStatus::kRejected, fmt::format("verifier: {}", e.what()));
  }
  try {
    link_shared(compiler.compile(module, Target::parse(request.target), options), request.output);
  } catch (const std::exception& e) {
    return failed(ResultStatus::kBuildFailed, e.what());
  }
  reply.seconds = spent();
  return reply;
}

Status serve_builds(int threads, const std::string& folder, const std::function<BuildReply(const BuildRequest&, CandidateCompiler&)>& build) {
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
    HONE_RETURN_IF_ERROR(send_frame(kChildChannel, FrameKind::kBuildReply, build(request, compiler)));
  }
}

}  // namespace hone::agent
