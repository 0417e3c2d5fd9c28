// The table of units, and the targets that have them, beside LLVM's own lists.
#include <gmock/gmock.h>

#include "compiler/codegen/llvm/machine/dot_units.h"
#include "compiler/codegen/llvm/machine/x86_features.h"
#include "compiler/ir/dtype.h"
#include "compiler/schedule/tensor_intrinsics.h"
#include "compiler/target/matrix_units.h"

namespace hone {
namespace {

Target cpu(const std::string& text) { return Target::parse("llvm -mtriple=" + text); }

TEST(MatrixUnits, OfX86AreOnTheCpusThatLlvmNames) {
  for (const char* name : {"haswell", "skylake-avx512", "cascadelake", "cooperlake", "icelake-client", "icelake-server",
                           "tigerlake", "rocketlake", "alderlake", "sapphirerapids", "emeraldrapids", "graniterapids",
                           "graniterapids-d", "znver3", "znver4", "znver5"})
    for (const char* changes : {"", " -mattr=-amx-bf16,-avx512vnni", " -mattr=+amx-int8,+amx-fp16"}) {
      const Target t = cpu(std::string("x86_64-linux -mcpu=") + name + changes);
      SCOPED_TRACE(to_string(t));
      EXPECT_EQ(t.has(Feature::kTilesBf16), has_x86_features(t, {"amx-bf16"}));
      EXPECT_EQ(t.has(Feature::kTilesF16), has_x86_features(t, {"amx-fp16"}));
      EXPECT_EQ(t.has(Feature::kTilesInt8), has_x86_features(t, {"amx-int8"}));
      EXPECT_EQ(t.has(Feature::kVnniInt8), has_x86_features(t, {"avx512vnni"}));
      EXPECT_FALSE(t.has(Feature::kMmlaInt8));
    }
}

TEST(MatrixUnits, OfArmAreOnTheCpusThatLlvmNames) {
  for (const char* name :
       {"generic", "cortex-a53", "cortex-a72", "cortex-a76", "cortex-a78ae", "cortex-x1", "cortex-a510", "cortex-a710",
        "cortex-x2", "neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2", "ampere1", "apple-m1", "apple-m2"}) {
    const Target t = cpu(std::string("aarch64-linux -mcpu=") + name);
    EXPECT_EQ(t.has(Feature::kMmlaInt8), dot_units(t).kind == DotProduct::kUsdot) << name;
    EXPECT_EQ(t.has(Feature::kMmlaBf16), dot_units(t).bf16_bits > 0) << name;
    EXPECT_FALSE(t.has(Feature::kTilesInt8));
  }
}

TEST(MatrixUnits, FillTheirRegisters) {
  for (const MatrixUnit& u : matrix_units()) {
    SCOPED_TRACE(u.name);
    const DType a = parse_dtype(u.a), b = parse_dtype(u.b), c = parse_dtype(u.c);
    const bool has_tiles = u.registers == MatrixUnit::Registers::kTiles;
    const int64_t bytes = has_tiles ? 1024 : u.rows == 1 ? 64 : 16;
    EXPECT_EQ(u.depth * u.columns * b.bytes(), bytes);
    EXPECT_EQ(u.rows * u.columns * c.bytes(), bytes);
    EXPECT_EQ(a.bytes(), b.bytes());
    EXPECT_EQ(u.depth % u.word, 0);
    if (has_tiles) {
      EXPECT_EQ(u.rows * u.depth * a.bytes(), bytes);
      EXPECT_EQ(u.rows_of_a, MatrixUnit::Rows::kAnywhere);
    }
    EXPECT_EQ(u.is_nest(), u.rows > 1);
    if (u.is_nest()) {
      EXPECT_TRUE(find_intrinsic(u.name).is_nest());
    }
  }
}

TEST(MatrixUnits, ATargetHasBlocksForItsTypes) {
  const Target t = cpu("aarch64-linux -mcpu=neoverse-n2");
  ASSERT_TRUE(nest_unit(t, "s8", "u8", "s32"));
  EXPECT_EQ(nest_unit(t, "s8", "u8", "s32")->product, "usmmla");
  EXPECT_EQ(nest_unit(t, "u8", "u8", "s32")->product, "ummla");
  EXPECT_EQ(nest_unit(t, "bf16", "bf16", "f32")->product, "bfmmla");
  EXPECT_FALSE(nest_unit(t, "f16", "f16", "f32"));
  EXPECT_FALSE(nest_unit(cpu("aarch64-linux -mcpu=cortex-a76"), "s8", "s8", "s32"));
  EXPECT_TRUE(nest_unit(cpu("aarch64-linux -mcpu=cortex-a76 -mattr=+i8mm"), "s8", "s8", "s32"));
}

TEST(MatrixUnits, ATargetHasTilesForItsTypes) {
  const Target t = cpu("x86_64-linux -mcpu=sapphirerapids");
  ASSERT_TRUE(nest_unit(t, "bf16", "bf16", "f32"));
  EXPECT_EQ(nest_unit(t, "bf16", "bf16", "f32")->product, "tdpbf16ps");
  EXPECT_EQ(nest_unit(t, "u8", "s8", "s32")->product, "tdpbusd");
  EXPECT_FALSE(nest_unit(t, "f16", "f16", "f32"));
  EXPECT_TRUE(nest_unit(cpu("x86_64-linux -mcpu=graniterapids"), "f16", "f16", "f32"));
  EXPECT_FALSE(nest_unit(t, "f32", "f32", "f32"));
  EXPECT_FALSE(nest_unit(cpu("x86_64-linux -mcpu=znver5"), "bf16", "bf16", "f32")) << "a row of sums is no tile";
}

TEST(MatrixUnits, SayWhichProductsAreSlowerThanThoseOfF32) {
  const auto slow = [](const char* cpu) {
    const Target t = Target::parse(cpu);
    return std::string(multiplies_slowly(t, "bf16") ? "bf16 " : "") + (multiplies_slowly(t, "f16") ? "f16" : "");
  };
  EXPECT_EQ(slow("llvm -mtriple=x86_64-linux -mcpu=haswell"), "bf16 f16");
  EXPECT_EQ(slow("llvm -mtriple=x86_64-linux -mcpu=znver4"), "f16");
  EXPECT_EQ(slow("llvm -mtriple=x86_64-linux -mcpu=sapphirerapids"), "f16");
  EXPECT_EQ(slow("llvm -mtriple=x86_64-linux -mcpu=sapphirerapids -mattr=-amx-bf16"), "bf16 f16");
  EXPECT_EQ(slow("llvm -mtriple=x86_64-linux -mcpu=graniterapids"), "");
  EXPECT_EQ(slow("llvm -mtriple=aarch64-linux -mcpu=cortex-a72"), "");
  EXPECT_EQ(slow("cuda -arch=sm_80"), "");
}

}  // namespace
}  // namespace hone
