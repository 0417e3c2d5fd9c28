// Tables of 256 bytes, looked up in registers: every byte, in vectors of all sorts, on each kind of CPU.
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/codegen/llvm/kernel/byte_tables.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

constexpr int64_t kEntries = 256;

// out[n] = table[x[n]], `lanes` of them in one vector; those behind `count` are left.
Function looked_up(int64_t lanes, int64_t count) {
  const int64_t rows = (count + lanes - 1) / lanes;
  const Buffer x = make_buffer("x", u8, std::vector<int64_t>{rows * lanes}),
               table = make_buffer("table", i8, std::vector<int64_t>{kEntries}),
               out = make_buffer("out", i8, std::vector<int64_t>{rows * lanes});
  const Var i("i"), j("j");
  const Expr at = Expr(i) * lanes + Expr(j);
  Function f;
  f.name = "looked_up";
  f.params = {x, table, out};
  f.body = make_for(
      i, make_int(0), make_int(rows), LoopKind::kSerial,
      make_for(j, make_int(0), make_int(lanes), LoopKind::kVectorize,
               make_if(lt(at, make_int(count)), make_store(out, {at}, load(table, {cast(kIndex, load(x, {at}))})))));
  return f;
}

std::vector<Target> targets() {
  std::vector<Target> all = targets_here();
  if (host_target(1).arch != "x86_64") return all;
  all.push_back(Target::parse("llvm -mtriple=x86_64-linux -mcpu=nehalem"));
  if (host_target(1).vector_bits == 512)
    all.push_back(Target::parse("llvm -mtriple=x86_64-linux -mcpu=skylake-avx512"));
  return all;
}

TEST(ByteTables, EveryByteOnEveryCpu) {
  for (const Target& target : targets())
    for (const int64_t lanes : {4, 8, 16, 24, 40, 64})
      for (const int64_t missing : {0, 3}) {
        SCOPED_TRACE(to_string(target) + ", " + std::to_string(lanes) + " lanes, " + std::to_string(missing) +
                     " missing");
        const int64_t rows = (2 * kEntries + lanes - 1) / lanes, count = rows * lanes - missing;
        const Function f = looked_up(lanes, count);
        const CompiledModule compiled(module_of(f), {}, target);
        std::vector<HostTensor> tensors = tensors_of(f);
        auto* x = static_cast<uint8_t*>(tensors[0].data());
        auto* table = static_cast<int8_t*>(tensors[1].data());
        auto* out = static_cast<int8_t*>(tensors[2].data());
        for (int64_t n = 0; n < rows * lanes; ++n) x[n] = static_cast<uint8_t>(n * 37);
        for (int64_t n = 0; n < kEntries; ++n) table[n] = static_cast<int8_t>(n * 101 + 17);
        std::memset(out, 99, static_cast<size_t>(rows * lanes));
        ASSERT_EQ(compiled.run(tensors), HONE_OK);
        for (int64_t n = 0; n < rows * lanes; ++n) ASSERT_EQ(out[n], n < count ? table[x[n]] : 99) << "element " << n;
      }
}

TEST(ByteTables, UnitsOfProcessors) {
  const auto unit = [](const char* cpu, int bits) {
    const TableUnit u = table_unit(Target::parse(std::string("llvm -mtriple=") + cpu), bits);
    return std::pair(u.kind, u.bytes);
  };
  EXPECT_EQ(unit("x86_64-linux -mcpu=znver4", 512), std::pair(TableLookup::kVbmi, 64));
  EXPECT_EQ(unit("x86_64-linux -mcpu=skylake-avx512", 512), std::pair(TableLookup::kPshufb, 64));
  EXPECT_EQ(unit("x86_64-linux -mcpu=skylake-avx512", 256), std::pair(TableLookup::kPshufb, 32));
  EXPECT_EQ(unit("x86_64-linux -mcpu=haswell", 256), std::pair(TableLookup::kPshufb, 32));
  EXPECT_EQ(unit("x86_64-linux -mcpu=nehalem", 128), std::pair(TableLookup::kPshufb, 16));
  EXPECT_EQ(unit("x86_64-linux -mcpu=x86-64", 128), std::pair(TableLookup::kNone, 0));
  EXPECT_EQ(unit("aarch64-linux -mcpu=cortex-a72", 128), std::pair(TableLookup::kTbl, 16));
}

}  // namespace
}  // namespace hone
