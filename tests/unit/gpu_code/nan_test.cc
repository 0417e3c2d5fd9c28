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

Module module_for(const std::string& workload, const Target& target, bool assume_finite = false) {
  const Workload w = parse_workload(workload);
  const Space space = make_space(w, target);
  Module m = lower_config(w, target, space, space.default_config());
  m.assume_finite = assume_finite;
  return m;
}

// The kernels' part of a text, behind the functions that all texts begin with.
std::string kernels(const GpuSource& source, std::string_view kind) {
  const size_t begin = source.text.find(kind == "cuda" ? "__global__ void" : "__kernel");
  EXPECT_NE(begin, std::string::npos);
  return begin == std::string::npos ? "" : source.text.substr(begin);
}

constexpr const char* kReduction = "reduce(op=max,shape=64x4096,axes=1,dtype=f32)";
constexpr const char* kRelu = "elementwise(op=relu,shape=4096,dtype=f32)";

TEST(GpuNan, StaysInMaxima) {
  for (const char* kind : {"cuda", "opencl"}) {
    const Target target = small_gpu(kind);
    const auto text = [&](const char* workload, bool assume_finite) {
      return kernels(emit_gpu(module_for(workload, target, assume_finite), kind), kind);
    };
    const std::string kept = text(kReduction, false), lost = text(kReduction, true), relu = text(kRelu, false);
    EXPECT_THAT(kept, HasSubstr("maximum_f32("));
    EXPECT_THAT(kept, testing::Not(HasSubstr(" max_f32("))) << "of two elements";
    EXPECT_THAT(lost, testing::Not(HasSubstr("maximum_f32(")));
    EXPECT_THAT(lost, HasSubstr("max_f32("));
    EXPECT_THAT(relu, HasSubstr("max_f32(0x0p+0f, ")) << "the number first, so that a NaN stays";
    EXPECT_THAT(relu, testing::Not(HasSubstr("maximum_f32(")));
  }
}

TEST(GpuNan, IsPtxsOwnWhereThatHasIt) {
  const std::string
      ampere =
          emit_ptx(module_for(kReduction, Target::parse("cuda -arch=sm_80")), Target::parse("cuda -arch=sm_80")).text,
      maxwell =
          emit_ptx(module_for(kReduction, Target::parse("cuda -arch=sm_53")), Target::parse("cuda -arch=sm_53")).text;
  EXPECT_THAT(ampere, HasSubstr("max.NaN.f32"));
  EXPECT_THAT(ampere, testing::Not(HasSubstr("setp.nan.f32")));
  EXPECT_THAT(maxwell, testing::Not(HasSubstr("max.NaN.f32")));
  EXPECT_THAT(maxwell, ContainsRegex("setp.nan.f32")) << "a comparison of an element with itself";
}

}  // namespace
}  // namespace hone
