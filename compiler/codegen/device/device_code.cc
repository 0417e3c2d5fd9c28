#include "compiler/codegen/device/device_code.h"

#include "base/check.h"
#include "compiler/codegen/nvptx/emit.h"

namespace hone {
namespace {

PtxCode ptx_by(const Nvrtc* nvrtc, const Module& m, const Target& target) {
  if (!nvrtc) {
    GpuSource source = emit_ptx(m, target);
    std::string by = "LLVM (no NVRTC here compiles for " + target.arch;
    for (const std::string& note : source.notes) by += "; " + note;
    return {std::move(source), by + ")"};
  }
  GpuSource source = gpu_text(m, target);
  auto text = nvrtc->ptx(source.text, target.arch);
  HONE_ICHECK(text.ok()) << "NVRTC refuses generated code: " << message_of(text.status());
  source.text = *std::move(text);
  return {std::move(source), "NVRTC " + nvrtc->version()};
}

}  // namespace

GpuSource gpu_text(const Module& m, const Target& target) { return emit_gpu(m, target.kind); }

std::shared_ptr<const Nvrtc> nvrtc_for(const Target& target, const NvrtcOptions& options) {
  if (target.kind != "cuda") return nullptr;
  NvrtcOptions wanted = options;
  wanted.arch = target.arch;
  auto nvrtc = Nvrtc::load(wanted);
  return nvrtc.ok() ? *std::move(nvrtc) : nullptr;
}

DeviceImageCode image_code(const Module& m, const Target& target, const Nvrtc* nvrtc) {
  if (target.kind != "cuda") {
    GpuSource source = gpu_text(m, target);
    return {/*is_text=*/true, std::move(source.text), std::move(source.launches), {}};
  }
  if (!nvrtc || !nvrtc->supports(target.arch).ok()) {
    GpuSource ptx = emit_ptx(m, target);
    return {/*is_text=*/false, std::move(ptx.text), std::move(ptx.launches), {}};
  }
  GpuSource source = gpu_text(m, target);
  StatusOr<DeviceImage> image = nvrtc->compile(source.text, target.arch);
  HONE_USER_CHECK(image.ok()) << message_of(image.status());
  return {/*is_text=*/false, std::move(image->bytes), std::move(source.launches), std::move(image->kernels)};
}

PtxCode ptx_code(const Module& m, const Target& target, const NvrtcOptions& options) {
  HONE_USER_CHECK(target.kind == "cuda") << "PTX is for --target cuda, not for " << target.kind;
  return ptx_by(nvrtc_for(target, options).get(), m, target);
}

GpuArtifactCode gpu_artifact_code(const Module& m, const Target& target, const NvrtcOptions& options) {
  return gpu_artifact_code(m, target, nvrtc_for(target, options).get());
}

GpuArtifactCode gpu_artifact_code(const Module& m, const Target& target, const Nvrtc* nvrtc) {
  if (target.kind != "cuda") return {gpu_text(m, target), "", "the device's driver"};
  PtxCode ptx = ptx_by(nvrtc, m, target);
  GpuArtifactCode out{std::move(ptx.source), "", std::move(ptx.by)};
  if (nvrtc) out.binary = image_code(m, target, nvrtc).bytes;
  return out;
}

}  // namespace hone
