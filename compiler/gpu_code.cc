#include "compiler/gpu_code.h"

#include "base/check.h"
#include "compiler/codegen/nvptx/emit.h"

namespace hone {

PtxCode ptx_code(const Module& m, const Target& target, const NvrtcOptions& options) {
  HONE_USER_CHECK(target.kind == "cuda") << "PTX is for --target cuda, not for " << target.kind;
  NvrtcOptions wanted = options;
  wanted.arch = target.arch;
  const auto nvrtc = Nvrtc::load(wanted);
  if (!nvrtc.ok()) return {emit_ptx(m, target), "LLVM (no NVRTC here compiles for " + target.arch + ")"};
  GpuSource source = emit_gpu(m, GpuDialect::kCuda);
  auto text = (*nvrtc)->ptx(source.text, target.arch);
  HONE_ICHECK(text.ok()) << "NVRTC refuses generated code: " << message_of(text.status());
  source.text = *std::move(text);
  return {std::move(source), "NVRTC " + (*nvrtc)->version()};
}

GpuArtifactCode gpu_artifact_code(const Module& m, const Target& target, const NvrtcOptions& options) {
  if (target.kind != "cuda") return {emit_gpu(m, GpuDialect::kOpencl), "", "the device's driver"};
  PtxCode ptx = ptx_code(m, target, options);
  GpuArtifactCode out{std::move(ptx.source), "", std::move(ptx.by)};
  NvrtcOptions wanted = options;
  wanted.arch = target.arch;
  if (const auto nvrtc = Nvrtc::load(wanted); nvrtc.ok()) {
    auto image = (*nvrtc)->compile(emit_gpu(m, GpuDialect::kCuda).text, target.arch);
    HONE_USER_CHECK(image.ok()) << message_of(image.status());
    out.binary = std::move(image->bytes);
  }
  return out;
}

}  // namespace hone
