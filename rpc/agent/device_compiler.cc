#include "rpc/agent/device_compiler.h"

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/codegen/nvptx/emit.h"

namespace hone::agent {
namespace {

// Why these kernels are not worth running; empty when they may be.
std::string unfit(const std::vector<KernelInfo>& kernels) {
  for (const KernelInfo& k : kernels)
    if (k.spill_bytes.value_or(0) > DeviceCompiler::kMostSpillBytes)
      return fmt::format("{} needs {} registers a thread and spills {} bytes; at most {} are tried", k.name,
                         k.registers.value_or(0), *k.spill_bytes, DeviceCompiler::kMostSpillBytes);
  return "";
}

}  // namespace

DeviceCompiler::DeviceCompiler(const DeviceSpec& device) {
  cuda_ = device.kind == DeviceKind::kCuda;
  if (!cuda_) return;
  NvrtcOptions options = nvrtc_here();
  options.max_major = device.cuda_major;
  auto loaded = Nvrtc::load(options);
  if (loaded.ok()) nvrtc_ = *std::move(loaded);
}

std::vector<std::string> DeviceCompiler::folders() const {
  if (!nvrtc_) return {};
  std::vector<std::string> out = {nvrtc_->path().substr(0, nvrtc_->path().rfind('/'))};
  if (!nvrtc_->headers().empty()) out.push_back(nvrtc_->headers());
  return out;
}

std::string DeviceCompiler::version() const { return nvrtc_ ? "nvrtc " + nvrtc_->version() : cuda_ ? "llvm" : ""; }

namespace {

DeviceCode device_code(bool is_text, std::string code, const std::vector<GpuLaunch>& launches) {
  DeviceCode out{is_text, std::move(code), {}};
  for (const GpuLaunch& l : launches) out.launches.push_back({l.kernel, l.blocks, l.threads, l.dynamic_shared_bytes});
  return out;
}

}  // namespace

DeviceCode DeviceCompiler::compile(const Module& m, const Target& target) const {
  if (target.kind == "cuda") return compile_cuda(m, target);
  GpuSource source = emit_gpu(m, GpuDialect::kOpencl);
  return device_code(true, std::move(source.text), source.launches);
}

DeviceCode DeviceCompiler::compile_cuda(const Module& m, const Target& target) const {
  if (!nvrtc_ || !nvrtc_->supports(target.arch).ok()) {
    GpuSource ptx = emit_ptx(m, target);
    return device_code(false, std::move(ptx.text), ptx.launches);
  }
  const GpuSource source = emit_gpu(m, GpuDialect::kCuda);
  StatusOr<DeviceImage> image = nvrtc_->compile(source.text, target.arch);
  HONE_USER_CHECK(image.ok()) << message_of(image.status());
  const std::string why = unfit(image->kernels);
  HONE_USER_CHECK(why.empty()) << why;
  return device_code(false, std::move(image->bytes), source.launches);
}

}  // namespace hone::agent
