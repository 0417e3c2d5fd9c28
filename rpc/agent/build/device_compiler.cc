#include "rpc/agent/build/device_compiler.h"

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/codegen/device/device_code.h"
#include "compiler/target/gpu_kinds.h"

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
  const GpuKind* const kind = find_gpu_kind(target_kind_of(device.kind));
  compiles_ahead_ = kind && kind->compiles_ahead;
  if (!compiles_ahead_) return;
  NvrtcOptions options = nvrtc_here();
  options.max_major = device.api_major;
  auto loaded = Nvrtc::load(options);
  if (loaded.ok()) nvrtc_ = *std::move(loaded);
}

std::vector<std::string> DeviceCompiler::folders() const {
  if (!nvrtc_) return {};
  std::vector<std::string> out = {nvrtc_->path().substr(0, nvrtc_->path().rfind('/'))};
  if (!nvrtc_->headers().empty()) out.push_back(nvrtc_->headers());
  return out;
}

std::string DeviceCompiler::version() const {
  return nvrtc_ ? "nvrtc " + nvrtc_->version() : compiles_ahead_ ? "llvm" : "";
}

DeviceCode DeviceCompiler::compile(const Module& m, const Target& target) const {
  DeviceImageCode image = image_code(m, target, nvrtc_.get());
  const std::string why = unfit(image.kernels);
  HONE_USER_CHECK(why.empty()) << why;
  return {image.is_text, std::move(image.bytes), std::move(image.launches)};
}

}  // namespace hone::agent
