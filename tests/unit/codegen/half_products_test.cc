// Products of f16: which CPUs sum them in f16, and which widen them as they multiply.
#include <gmock/gmock.h>

#include <regex>

#include "compiler/codegen/llvm/compile.h"
#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

using testing::HasSubstr;

// C[i] += A[i] * B[i] of f16, computed in `t`.
Module halves_module(DType t) {
  const Buffer a = make_buffer("A", f16, {64}), b = make_buffer("B", f16, {64}), c = make_buffer("C", t, {64});
  const Var i("i"), j("j");
  const Expr at = Expr(i) * 8 + Expr(j);
  const Stmt step = make_store(c, {at}, load(c, {at}) + cast(t, load(a, {at})) * cast(t, load(b, {at})));
  Function f;
  f.name = "halves";
  f.params = {a, b, c};
  f.body = make_for(i, make_int(0), make_int(8), LoopKind::kSerial,
                    make_for(j, make_int(0), make_int(8), LoopKind::kVectorize, step));
  return module_of(f);
}

TEST(HalfProducts, TargetsKnowWhetherTheySumThemInF16) {
  const Module m = halves_module(f16);
  std::vector<std::string> cpus(std::begin(kNarrowFloatCpus), std::end(kNarrowFloatCpus));
  for (const char* more : {"cortex-a53",
                           "cortex-a55",
                           "cortex-a57",
                           "cortex-a75",
                           "cortex-a76ae",
                           "cortex-a77",
                           "cortex-a78c",
                           "cortex-a510",
                           "cortex-a520",
                           "cortex-a710",
                           "cortex-a715",
                           "cortex-a720",
                           "cortex-x1c",
                           "cortex-x2",
                           "cortex-x3",
                           "cortex-x4",
                           "neoverse-n3",
                           "neoverse-v3",
                           "ampere1",
                           "apple-m1",
                           "apple-m2",
                           "apple-m3",
                           "apple-m4",
                           "generic -mattr=+fullfp16",
                           "cortex-a76 -mattr=-fullfp16"})
    cpus.push_back(std::string("aarch64-linux -mcpu=") + more);
  for (const std::string& cpu : cpus) {
    const Target t = Target::parse("llvm -mtriple=" + cpu);
    const std::string text = emit_asm_text(m, t);
    const bool sums = std::regex_search(text, std::regex(R"(fmla\s+v\d+\.8h|vfmadd\d+ph)"));
    EXPECT_EQ(t.has(Feature::kSumsOfF16), sums) << cpu << text;
  }
}

TEST(HalfProducts, AreWidenedByTheMultiplyAddWhereItCan) {
  const Module m = halves_module(f32);
  const auto on = [&](const std::string& cpu) {
    return emit_asm_text(m, Target::parse("llvm -mtriple=aarch64-linux -mcpu=" + cpu));
  };
  for (const char* cpu : {"neoverse-v1", "neoverse-n2", "apple-m1", "cortex-a76 -mattr=+fp16fml"}) {
    EXPECT_THAT(on(cpu), HasSubstr("fmlal\t")) << cpu;
    EXPECT_THAT(on(cpu), testing::Not(HasSubstr("fcvt"))) << cpu;
  }
  for (const char* cpu : {"cortex-a53", "cortex-a76", "neoverse-v1 -mattr=-fp16fml"})
    EXPECT_THAT(on(cpu), testing::Not(HasSubstr("fmlal"))) << cpu;
}

}  // namespace
}  // namespace hone
