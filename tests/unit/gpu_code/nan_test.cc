// Texts of GPUs' code keep NaNs in maxima: by the order of the operands beside a number, by a comparison elsewhere.
#include <gmock/gmock.h>

#include "compiler/build/build.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/codegen/nvptx/emit.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

Module module_for(const std::string& workload, const Target& target, bool assume_finite = false) {
  const Workload w = parse_workload(workload);
  const Space space = make_space(w, target);
  Module m = lower_config(w, target, space, space.default_config());
  m.assume_finite = assume_finite;
  return m;
}

// The kernels' part of a text: what stands behind the functions that all texts begin with.
std::string kernels(const std::string& text) { return text.substr(text.find("hone_")); }

constexpr const char* kReduction = "reduce(op=max,shape=64x4096,axes=1,dtype=f32)";
constexpr const char* kRelu = "elementwise(op=relu,shape=4096,dtype=f32)";

TEST(GpuNan, StaysInMaxima) {
  for (const GpuDialect dialect : {GpuDialect::kCuda, GpuDialect::kOpencl}) {
    const Target target = small_gpu(dialect == GpuDialect::kCuda ? "cuda" : "opencl");
    const std::string kept = kernels(emit_gpu(module_for(kReduction, target), dialect).text),
                      lost = kernels(emit_gpu(module_for(kReduction, target, true), dialect).text),
                      relu = kernels(emit_gpu(module_for(kRelu, target), dialect).text);
    EXPECT_THAT(kept, HasSubstr("maximum_f32("));
    const size_t begin = kept.find("__kernel") != std::string::npos ? kept.find("__kernel") : kept.find("__global__");
    EXPECT_THAT(kept.substr(begin), Not(HasSubstr(" max_f32("))) << "of two elements";
    EXPECT_THAT(lost.substr(begin), Not(HasSubstr("maximum_f32(")));
    EXPECT_THAT(relu.substr(begin), HasSubstr("max_f32(0x0p+0f, ")) << "the number first, so that a NaN stays";
    EXPECT_THAT(relu.substr(begin), Not(HasSubstr("maximum_f32(")));
  }
}

TEST(GpuNan, IsPtxsOwnWhereThatHasIt) {
  const std::string
      ampere =
          emit_ptx(module_for(kReduction, Target::parse("cuda -arch=sm_80")), Target::parse("cuda -arch=sm_80")).text,
      maxwell =
          emit_ptx(module_for(kReduction, Target::parse("cuda -arch=sm_53")), Target::parse("cuda -arch=sm_53")).text;
  EXPECT_THAT(ampere, HasSubstr("max.NaN.f32"));
  EXPECT_THAT(ampere, Not(HasSubstr("setp.nan.f32")));
  EXPECT_THAT(maxwell, Not(HasSubstr("max.NaN.f32")));
  EXPECT_THAT(maxwell, ContainsRegex("setp.nan.f32")) << "a comparison of an element with itself";
}

}  // namespace
}  // namespace hone
