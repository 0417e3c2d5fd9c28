// Sources: Intel's Software Developer's Manual, "Intel AMX Instruction Set Reference" (a palette 1 has eight tiles of
// 16 rows of 64 bytes); its AVX512-BF16 and AVX512-VNNI instructions; Arm's A-profile A64 instruction set (SMMLA,
// UMMLA, USMMLA, BFMMLA: two rows of 8 bytes by two columns, in one register each).
// Rates: of tiles 1,024 operations of bf16 and 2,048 of bytes a cycle, where FMA has 64 (docs/matrix-units.md); of the
// others an instruction as often as FMA, which Intel's vdpbf16ps is not, nor are those of blocks on Ampere1.
#include "compiler/target/matrix_units.h"

#include <algorithm>
#include <iterator>

namespace hone {
namespace {

using Registers = MatrixUnit::Registers;
using Rows = MatrixUnit::Rows;

int64_t bytes_of(std::string_view type) { return type.ends_with("16") ? 2 : 1; }
std::string_view type_of_sums(std::string_view factor) { return factor.ends_with("f16") ? "f32" : "s32"; }

MatrixUnit tiles(std::string_view name, Feature feature, std::string_view product, std::string_view a,
                 std::string_view b) {
  const int64_t word = 4 / bytes_of(a);
  return {name, feature,         product,           a, b,        type_of_sums(a), 16, 16, 16 * word,
          word, Rows::kAnywhere, Registers::kTiles, 8, 8. * word};
}

// A row of sums in a vector register of 512 bits.
MatrixUnit row(std::string_view name, Feature feature, std::string_view product, std::string_view a,
               std::string_view b) {
  const int64_t word = 4 / bytes_of(a);
  return {name, feature,  product, a, b, type_of_sums(a), 1, 16, word, word, Rows::kAnywhere, Registers::kVectors,
          32,   1. * word};
}

// A block of 2 x 2 sums in a vector register of 128 bits.
MatrixUnit block(std::string_view name, Feature feature, std::string_view product, std::string_view a,
                 std::string_view b) {
  const int64_t depth = 8 / bytes_of(a);
  return {name, feature,   product, a, b, type_of_sums(a), 2, 2, depth, depth, Rows::kTogether, Registers::kVectors,
          32,   1. * depth};
}

}  // namespace

std::span<const MatrixUnit> matrix_units() {
  static const MatrixUnit table[] = {
      tiles("tile_bf16", Feature::kTilesBf16, "tdpbf16ps", "bf16", "bf16"),
      tiles("tile_f16", Feature::kTilesF16, "tdpfp16ps", "f16", "f16"),
      tiles("tile_u8s8", Feature::kTilesInt8, "tdpbusd", "u8", "s8"),
      tiles("tile_s8u8", Feature::kTilesInt8, "tdpbsud", "s8", "u8"),
      tiles("tile_s8s8", Feature::kTilesInt8, "tdpbssd", "s8", "s8"),
      tiles("tile_u8u8", Feature::kTilesInt8, "tdpbuud", "u8", "u8"),
      block("mmla_bf16", Feature::kMmlaBf16, "bfmmla", "bf16", "bf16"),
      block("mmla_u8s8", Feature::kMmlaInt8, "usmmla", "u8", "s8"),
      block("mmla_s8u8", Feature::kMmlaInt8, "usmmla", "s8", "u8"),
      block("mmla_s8s8", Feature::kMmlaInt8, "smmla", "s8", "s8"),
      block("mmla_u8u8", Feature::kMmlaInt8, "ummla", "u8", "u8"),
      row("row_bf16", Feature::kDotBf16, "vdpbf16ps", "bf16", "bf16"),
      row("row_u8s8", Feature::kVnniInt8, "vpdpbusd", "u8", "s8"),
  };
  return table;
}

const MatrixUnit* nest_unit(const Target& target, std::string_view a, std::string_view b, std::string_view c) {
  for (const MatrixUnit& u : matrix_units())
    if (u.is_nest() && u.a == a && u.b == b && u.c == c && target.has(u.feature)) return &u;
  return nullptr;
}

// Measured: Intel's vdpbf16ps has half of FMA's rate (docs/matrix-units.md), AMD's twice (Zen 4, 5). On Zen 5 without
// the instruction 3x3 convolutions of bf16 took 2.5 times as long as in f32, which has Winograd's algorithm, others
// 0.96 to 1.4; of f16, which x86 converts one by one, 3.0 and 1.1 to 1.9. Arm's were not measured.
bool multiplies_slowly(const Target& target, std::string_view type) {
  constexpr std::string_view kSlowDots[] = {"cooperlake", "sapphirerapids", "emeraldrapids", "graniterapids",
                                            "graniterapids-d"};
  if (target.arch != "x86_64" || nest_unit(target, type, type, "f32")) return false;
  if (type != "bf16") return type == "f16";
  return !target.has(Feature::kDotBf16) ||
         std::find(std::begin(kSlowDots), std::end(kSlowDots), target.mcpu) != std::end(kSlowDots);
}

}  // namespace hone
