// Arm's matrix instructions: which loops are nests for them, the code of these, and the templates that have them. Their
// results are tested where an emulator runs them (tests/arm64); here the loops run as such.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "compiler/build/build.h"
#include "compiler/codegen/legalize/tile_nest.h"
#include "compiler/codegen/llvm/compile.h"
#include "tests/fakes/assembly.h"
#include "tests/fakes/block_workloads.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

Target arm(const std::string& cpu, int threads = 1) {
  return Target::parse("llvm -mtriple=aarch64-linux -threads=" + std::to_string(threads) + " -mcpu=" + cpu);
}
const Target kArm = arm("cortex-a76 -mattr=+bf16,+i8mm");

// C[c + rows_of_c*i + j] += A[a + rows_of_a*i + w] * B[b + rows_of_b*j + w].
struct BlockOfSums {
  DType of_a = u8, of_b = i8, of_c = i32;
  int64_t word = 8, rows_of_a = 8, rows_of_b = 8, rows_of_c = 2, columns_of_c = 1, step_of_a = 1, extent = 2;
  int64_t at_c = 0;
  LoopKind innermost = LoopKind::kWarp;
  Buffer c = make_buffer("c", of_c, {1 << 20}, BufferScope::kStack);

  Stmt make() const {
    const Buffer a = make_buffer("a", of_a, {1 << 20}), b = make_buffer("b", of_b, {1 << 20});
    const Var i("i"), j("j"), w("w");
    const Expr at = make_int(at_c) + Expr(i) * rows_of_c + Expr(j) * columns_of_c;
    const Expr x = load(a, {Expr(i) * rows_of_a + Expr(w) * step_of_a}), y = load(b, {Expr(j) * rows_of_b + w});
    Stmt s = make_store(c, {at}, load(c, {at}) + cast(of_c, x) * cast(of_c, y));
    s = make_for(w, make_int(0), make_int(word), innermost, s);
    s = make_for(j, make_int(0), make_int(2), LoopKind::kWarp, s);
    return make_for(i, make_int(0), make_int(extent), LoopKind::kWarp, s);
  }
};

std::string_view unit_of(const BlockOfSums& n, const Target& target = kArm) {
  const auto nest = match_tile_nest(as<For>(n.make()), target);
  return nest ? nest->unit->name : "";
}

TEST(BlockNest, IsAProductOfTwoRowsByTwoColumns) {
  EXPECT_EQ(unit_of({}), "mmla_u8s8");
  EXPECT_EQ(unit_of({.of_a = i8, .of_b = u8}), "mmla_s8u8");
  EXPECT_EQ(unit_of({.of_a = i8}), "mmla_s8s8");
  EXPECT_EQ(unit_of({.of_b = u8}), "mmla_u8u8");
  EXPECT_EQ(unit_of({.of_a = bf16, .of_b = bf16, .of_c = f32, .word = 4, .rows_of_a = 4, .rows_of_b = 4}), "mmla_bf16");
  EXPECT_EQ(unit_of({.rows_of_a = 1000}), "mmla_u8s8") << "rows of A lie anywhere";
  EXPECT_EQ(unit_of({.rows_of_b = 24}), "mmla_u8s8");
  EXPECT_EQ(unit_of({.rows_of_c = 64}), "mmla_u8s8");
  EXPECT_EQ(unit_of({.rows_of_c = 1}), "") << "rows of sums overlap";
  EXPECT_EQ(unit_of({.columns_of_c = 2}), "");
  EXPECT_EQ(unit_of({.step_of_a = 2}), "");
  EXPECT_EQ(unit_of({.word = 4}), "");
  EXPECT_EQ(unit_of({.extent = 4}), "");
  EXPECT_EQ(unit_of({.innermost = LoopKind::kSerial}), "");
  EXPECT_EQ(unit_of({}, arm("cortex-a76")), "");
  EXPECT_EQ(unit_of({}, arm("cortex-a76 -mattr=+bf16")), "");
  EXPECT_EQ(unit_of({}, arm("neoverse-n2")), "mmla_u8s8");
}

TEST(BlockRegion, HasAsManySumsAsLeaveARegisterForEachFactor) {
  const auto region = [](const std::vector<int64_t>& sums) {
    BlockOfSums n;
    std::vector<Stmt> all;
    for (const int64_t at : sums) n.at_c = at, all.push_back(n.make());
    return match_tile_region(make_seq(std::move(all)), kArm);
  };
  std::vector<int64_t> sums;
  for (int64_t at = 0; at < 30; ++at) sums.push_back(4 * at);
  EXPECT_EQ(region(sums)->sums.size(), 30u);
  sums.push_back(0);
  EXPECT_EQ(region(sums)->sums.size(), 30u) << "one of them again";
  sums.push_back(120);
  EXPECT_FALSE(region(sums));
  EXPECT_FALSE(region({0, 2})) << "a row overlaps";
}

std::string assembly_of(const std::string& workload, const std::string& config) {
  const Workload w = parse_workload(workload);
  const Space space = make_space(w, kArm);
  const Config c = config.empty() ? space.default_config() : space.adapt(config).value();
  return emit_asm_text(lower_config(w, kArm, space, c), kArm);
}

// The innermost loops that have the instruction.
std::vector<std::vector<std::string>> loops_with(const std::string& text, const std::string& instruction) {
  std::vector<std::vector<std::string>> out;
  for (auto& loop : innermost_loops(text))
    if (count_matching(loop, "\\s" + instruction + "\\s") > 0) out.push_back(std::move(loop));
  return out;
}

struct Loop {
  const char *workload, *config, *instruction;
  int products, loads;  // of 16 bytes
};

class BlockLoops : public testing::TestWithParam<Loop> {};

// Sums stay in registers, and each factor is loaded once a step.
TEST_P(BlockLoops, AreLoadsAndProducts) {
  const auto& [workload, config, instruction, products, loads] = GetParam();
  const std::string text = assembly_of(workload, config);
  const auto loops = loops_with(text, instruction);
  ASSERT_FALSE(loops.empty()) << text;
  for (const std::vector<std::string>& loop : loops) {
    const std::string body = testing::PrintToString(loop);
    EXPECT_EQ(count_matching(loop, std::string("\\s") + instruction + "\\s"), products) << body;
    EXPECT_EQ(count_matching(loop, R"(\sldu?r\s+q)") + 2 * count_matching(loop, R"(\sldn?p\s+q)"), loads) << body;
    EXPECT_EQ(count_matching(loop, kArmStore), 0) << body;
    EXPECT_LE(static_cast<int>(loop.size()), products + loads + 8) << body;
  }
}

INSTANTIATE_TEST_SUITE_P(OfTemplates, BlockLoops,
                         testing::Values(Loop{"dense(m=64,n=64,k=256,dtype=u8:s8:s32:s32)",
                                              "unit=2,mmla_block=44,mmla_unroll_k=2,mmla_pack_a=1", "usmmla", 32, 16},
                                         Loop{"dense(m=64,n=64,k=256,dtype=s8:s8:s32:s32)",
                                              "unit=2,mmla_block=46,mmla_unroll_k=1,mmla_pack_a=1", "smmla", 24, 10},
                                         Loop{"dense(m=64,n=64,k=256,dtype=bf16:bf16:f32:f32)",
                                              "unit=2,mmla_block=64,mmla_unroll_k=1,mmla_pack_a=1", "bfmmla", 24, 10},
                                         Loop{"batch_matmul(b=2,m=64,n=64,k=256,dtype=s8:u8:s32:s32)",
                                              "unit=2,mmla_block=44,mmla_unroll_k=1,mmla_pack_a=1", "usmmla", 16, 8},
                                         Loop{"conv2d(ci=64,h=8,w=8,co=64,dtype=u8:s8:s32:s32,layout=NHWC)",
                                              "algorithm=9,m_block=44,m_gather=1", "usmmla", 16, 8}));

// One step leaves no loop: its products follow each other all the same, with nothing but their loads between them.
TEST(BlockRegion, IsOneOfNestsWithoutALoop) {
  std::istringstream text(assembly_of("dense(m=8,n=8,k=8,dtype=u8:s8:s32:s32)", "unit=2,mmla_block=44,mmla_pack_a=1"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  const auto is_product = [](const std::string& l) { return l.find("\tusmmla\t") != std::string::npos; };
  const auto first = std::find_if(lines.begin(), lines.end(), is_product),
             last = std::find_if(lines.rbegin(), lines.rend(), is_product).base();
  EXPECT_EQ(std::count_if(first, last, is_product), 16);
  EXPECT_LE(last - first, 16 + 8 + 16 + 8) << "products, loads, zeros";
}

// A task transposes its columns of B: rows of bytes are read in pairs, eight of which are interleaved.
TEST(BlockPanels, OfAProductsColumnsAreInterleavedRows) {
  const auto loops = innermost_loops(
      assembly_of("batch_matmul(b=2,m=64,n=64,k=256,dtype=s8:u8:s32:s32)", "unit=2,mmla_block=44,mmla_pack_a=1"));
  const auto pairs = [](const std::vector<std::string>& l) { return count_matching(l, R"(\sld1\s+\{ ?v[0-9]+\.h)"); };
  EXPECT_TRUE(std::any_of(loops.begin(), loops.end(), pairs));
  for (const std::vector<std::string>& loop : loops)
    EXPECT_EQ(count_matching(loop, R"(\sldu?r\s+b|\sld1\s+\{ ?v[0-9]+\.b)"), 0) << testing::PrintToString(loop);
}

// The schedules, whose nests this machine runs as loops.
class OnBlocks : public testing::TestWithParam<const char*> {
 protected:
  std::string prefix() const {
    return std::string_view(GetParam()).starts_with("conv2d") ? kBlocksOfConvolution : kBlocksOfProduct;
  }
};

TEST_P(OnBlocks, TemplatesComputeWhatTheReferenceComputes) {
  expect_configs_match_reference(parse_workload(GetParam()), arm("neoverse-n2", 2), 5, 7, prefix());
}

// Every config's code has the instruction and no other product: none falls back to plain loops.
TEST_P(OnBlocks, EveryConfigIsOfTheInstruction) {
  const Workload w = parse_workload(GetParam());
  const Space space = make_space(w, kArm);
  std::mt19937_64 rng(3);
  for (const Config& config : some_configs(space, 4, rng, prefix())) {
    SCOPED_TRACE(space.print(config));
    const std::string text = emit_asm_text(lower_config(w, kArm, space, config), kArm);
    EXPECT_THAT(text, testing::ContainsRegex("\t(usmmla|smmla|ummla|bfmmla)\t"));
    EXPECT_THAT(text, testing::Not(testing::ContainsRegex("\t(ldrsb\t|madd\tw|fmadd\ts)")));
  }
}

INSTANTIATE_TEST_SUITE_P(Products, OnBlocks, testing::ValuesIn(kBlockProducts));
INSTANTIATE_TEST_SUITE_P(Convolutions, OnBlocks, testing::ValuesIn(kBlockConvolutions));

Space arm_space(const std::string& workload, const std::string& cpu) {
  return make_space(parse_workload(workload), arm(cpu, 2));
}

TEST(BlockSpaces, AreTheOldOnesWhereTheInstructionsHaveNothingToDo) {
  for (const char* text : {"dense(m=64,n=64,k=64)", "conv2d(ci=32,h=8,w=8,co=32)", "dense(m=64,n=64,k=42,dtype=bf16)",
                           "dense(m=64,n=3,k=64,dtype=bf16)", "dense(m=64,n=64,k=64,dtype=u8:f32:f32:f32)",
                           "depthwise_conv2d(c=32,h=8,w=8)", "conv2d(ci=3,h=8,w=8,co=32,dtype=bf16,layout=NHWC)",
                           "conv2d(ci=64,h=8,w=8,co=32,dtype=u8:s8:s32:s32,layout=NCHW)"})
    EXPECT_EQ(arm_space(text, "neoverse-n2").fingerprint(),
              arm_space(text, "neoverse-n2 -mattr=-bf16,-i8mm").fingerprint())
        << text;
}

// A config of processors without the instructions is still one here; the unit, which it does not name, is the default.
TEST(BlockSpaces, TakeConfigsOfProcessorsWithoutTheInstructions) {
  for (const char* text :
       {"dense(m=64,n=64,k=64,dtype=bf16)", "dense(m=64,n=64,k=64,dtype=u8:s8:s32:s32)",
        "batch_matmul(b=2,m=64,n=64,k=64,dtype=bf16)", "conv2d(ci=64,h=8,w=8,co=32,dtype=bf16,layout=NCHW16c)"})
    for (const char* cpu : {"cortex-a72", "cortex-a76", "neoverse-n1"}) {
      const Space blocks = arm_space(text, "neoverse-n2"), other = arm_space(text, cpu);
      EXPECT_NE(blocks.fingerprint(), other.fingerprint());
      std::mt19937_64 rng(1);
      for (int i = 0; i < 10; ++i) {
        const Config config = *other.sample(rng);
        const auto adapted = blocks.adapt(other.print(config));
        ASSERT_TRUE(adapted) << other.print(config);
        EXPECT_TRUE(blocks.valid(*adapted));
      }
    }
}

TEST(BlockSpaces, BeginWithTheInstructionsWhereTwoRowsShareThem) {
  const auto begin = [](const std::string& workload) {
    const Space space = arm_space(workload, "neoverse-n2");
    return space.print(space.default_config());
  };
  using testing::StartsWith;
  EXPECT_THAT(begin("dense(m=2,n=64,k=64,dtype=u8:s8:s32:s32)"), StartsWith("unit=2"));
  EXPECT_THAT(begin("dense(m=1,n=64,k=64,dtype=u8:s8:s32:s32)"), StartsWith("unit=0"));
  EXPECT_THAT(begin("dense(m=1,n=64,k=64,dtype=s8:s8:s32:s32)"), StartsWith("unit=2")) << "no dot product has them";
  EXPECT_THAT(begin("conv2d(ci=64,h=8,w=8,co=32,dtype=bf16,layout=NHWC)"), StartsWith("algorithm=9"));
  EXPECT_THAT(begin("conv2d(ci=64,h=8,w=8,co=8,dtype=bf16,layout=NHWC)"), StartsWith("algorithm=0"));
}

}  // namespace
}  // namespace hone
