#include "rpc/agent/device_compiler.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/check.h"
#include "compiler/codegen/gpu/emit.h"

namespace hone::agent {
namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Why these kernels are not worth running; empty when they may be.
std::string unfit(const std::vector<KernelInfo>& kernels) {
  for (const KernelInfo& k : kernels)
    if (k.spill_bytes.value_or(0) > DeviceCompiler::kMostSpillBytes)
      return fmt::format("{} needs {} registers a thread and spills {} bytes; at most {} are tried", k.name, k.registers.value_or(0), *k.spill_bytes, DeviceCompiler::kMostSpillBytes);
  return "";
}

}  // namespace

DeviceCompiler::DeviceCompiler(const DeviceSpec& device) {
  if (device.kind != DeviceKind::kCuda) return;
  std::string home = variable("CUDA_HOME");
  if (home.empty()) home = variable("CUDA_PATH");
  auto loaded = Nvrtc::load({.libraries = nvrtc_libraries(home), .max_major = device.cuda_major});
  if (loaded.ok())
    nvrtc_ = *std::move(loaded);
  else
    why_not_ = message_of(loaded.status());
}

std::vector<std::string> DeviceCompiler::folders() const {
  if (!nvrtc_) return {};
  std::vector<std::string> out = {nvrtc_->path().substr(0, nvrtc_->path().rfind('/'))};
  if (!nvrtc_->headers().empty()) out.push_back(nvrtc_->headers());
  return out;
}

std::string DeviceCompiler::version() const { return nvrtc_ ? "nvrtc " + nvrtc_->version() : ""; }

DeviceCode DeviceCompiler::compile(const Module& m, const Target& target) const {
  const bool cuda = target.kind == "cuda";
  const GpuSource source = emit_gpu(m, cuda ? GpuDialect::kCuda : GpuDialect::kOpencl);
  DeviceCode code = cuda ? compile_cuda(source.text, target) : DeviceCode{true, source.text, {}};
  for (const GpuLaunch& l : source.launches) code.launches.push_back({l.kernel, l.blocks, l.threads, 0});
  return code;
}

DeviceCode DeviceCompiler::compile_cuda(const std::string& text, const Target& target) const {
  HONE_USER_CHECK(nvrtc_) << "no compiler for " << target.arch << ": " << why_not_;
  const StatusOr<DeviceImage> image = nvrtc_->compile(text, target.arch);
  HONE_USER_CHECK(image.ok()) << message_of(image.status());
  const std::string why = unfit(image->kernels);
  HONE_USER_CHECK(why.empty()) << why;
  return {false, image->bytes, {}};
}

}  // namespace hone::agent
