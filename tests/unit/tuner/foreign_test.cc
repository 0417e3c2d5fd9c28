// The meaning of AutoTVM's records here: workloads, configs, seeds. Lines are of our own making, and so is the log in
// tests/data.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <sstream>

#include "base/key.h"
#include "compiler/build/build.h"
#include "tests/fakes/workloads.h"
#include "tuner/transfer/foreign_config.h"
#include "tuner/transfer/foreign_workload.h"
#include "tuner/transfer/seeds.h"

namespace hone {
namespace {

using testing::HasSubstr;

Target avx512_of_two() { return Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2"); }
Target avx2() { return Target::parse("llvm -mtriple=x86_64-linux -mcpu=haswell -threads=2"); }

db::ForeignRow record(const std::string& name, const std::string& arguments, const std::string& config,
                      const std::string& target = "llvm -mcpu=skylake-avx512") {
  db::ForeignRow r;
  r.hash = name + arguments + config + target;
  r.source = "made_up.log", r.line = 1;
  r.template_name = name, r.arguments = arguments, r.config = config, r.target = target;
  r.status = "ok", r.seconds = 1e-3;
  return r;
}

std::string tensor(const std::string& shape, const std::string& dtype = "float32") {
  return "[\"TENSOR\", [" + shape + "], \"" + dtype + "\"]";
}

constexpr char kBlocked[] =
    R"([["tile_ic","sp",[4,16]],["tile_oc","sp",[2,32]],["tile_ow","sp",[8,7]],["unroll_kw","ot",true]])";
const std::string kConv = "[" + tensor("1, 64, 56, 56") + "," + tensor("64, 64, 3, 3") +
                          R"(, [1, 1], [1, 1, 1, 1], [1, 1], "NCHW", "NCHW", "float32"])";
constexpr char kBoard[] = "llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -mattr=+neon";

std::string workload_text(const std::string& name, const std::string& arguments) {
  const auto w = foreign_workload(test_operators(), record(name, arguments, "[]"));
  return w.ok() ? to_string(*w) : "none: " + message_of(w.status());
}

TEST(ForeignWorkload, ConvolutionsOfEveryTemplate) {
  EXPECT_EQ(workload_text("conv2d_NCHWc.x86", kConv),
            "conv2d(n=1,ci=64,h=56,w=56,co=64,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHWc,dtype=f32,"
            "epilogue=none)");
  // Packed already: channels and their blocks.
  EXPECT_EQ(
      workload_text("conv2d_NCHWc.x86", "[" + tensor("1, 4, 9, 8, 16") + "," + tensor("2, 4, 3, 5, 16, 32") +
                                            R"(, [2, 1], [0, 1, 2, 3], [1, 1], "NCHW16c", "NCHW32c", "float32"])"),
      "conv2d(n=1,ci=64,h=9,w=8,co=64,kh=3,kw=5,stride=2x1,pad=0:1:2:3,dilation=1,groups=1,layout=NCHWc,dtype=f32,"
      "epilogue=none)");
  EXPECT_EQ(workload_text("conv2d_nchw_spatial_pack.arm_cpu", "[" + tensor("1, 3, 8, 8", "int8") + "," +
                                                                  tensor("16, 3, 3, 3", "int8") +
                                                                  R"(, [1, 1], [1, 2], 1, "int32"])"),
            "conv2d(n=1,ci=3,h=8,w=8,co=16,kh=3,kw=3,stride=1,pad=1x2,dilation=1,groups=1,layout=NCHW,dtype=s8:s8:s32:"
            "s32,epilogue=none)");
  EXPECT_EQ(workload_text("conv2d_nhwc_spatial_pack.arm_cpu", "[" + tensor("1, 8, 9, 3") + "," + tensor("3, 5, 3, 16") +
                                                                  R"(, [1, 1], [1, 1], [1, 1], "float32"])"),
            "conv2d(n=1,ci=3,h=8,w=9,co=16,kh=3,kw=5,stride=1,pad=1,dilation=1,groups=1,layout=NHWC,dtype=f32,epilogue="
            "none)");
  EXPECT_EQ(
      workload_text("depthwise_conv2d_nchw.arm_cpu", "[" + tensor("1, 32, 8, 8") + "," + tensor("32, 1, 3, 3") +
                                                         R"(, [2, 2], [1, 1, 1, 1], [1, 1], "float32"])"),
      "depthwise_conv2d(n=1,c=32,h=8,w=8,kh=3,kw=3,stride=2,pad=1,dilation=1,layout=NCHW,dtype=f32,epilogue=none)");
}

TEST(ForeignWorkload, DenseLayersPlainPackedAndWithBias) {
  EXPECT_EQ(workload_text("dense_nopack.x86", "[" + tensor("4, 8") + "," + tensor("16, 8") + R"(, null, "float32"])"),
            "dense(m=4,n=16,k=8,dtype=f32,epilogue=none)");
  EXPECT_EQ(workload_text("dense_pack.x86",
                          "[" + tensor("4, 8") + "," + tensor("2, 8, 16") + "," + tensor("32") + R"(, "float32"])"),
            "dense(m=4,n=32,k=8,dtype=f32,epilogue=bias)");
}

TEST(ForeignWorkload, WhatHasNoCounterpartSaysWhyWithoutNumbers) {
  const auto conv = [](const std::string& data, const std::string& weight, const std::string& rest) {
    return workload_text("conv2d_NCHWc.x86", "[" + data + "," + weight + "," + rest + "]");
  };
  const std::string rest = R"([1, 1], [1, 1], [1, 1], "NCHW", "NCHW", "float32")";
  EXPECT_EQ(workload_text("conv2d_transpose_nchw.arm_cpu", kConv),
            "none: template conv2d_transpose_nchw.arm_cpu has no counterpart here");
  EXPECT_EQ(conv(tensor("1,8,8,8", "float16"), tensor("8,8,3,3", "float16"), rest),
            "none: types float16 x float16 -> float32 have no counterpart here");
  EXPECT_EQ(conv(tensor("1,8,8,8"), tensor("8,4,3,3"), rest), "none: a grouped convolution");
  EXPECT_EQ(conv(tensor("1,8,8"), tensor("8,8,3,3"), rest), "none: tensors packed in a way that is not known here");
  EXPECT_EQ(conv(tensor("1,8,2,2"), tensor("8,8,7,7"), rest),
            "none: shapes of conv2d_NCHWc.x86 that are no workload here")
      << "the kernel is larger than the input";
  EXPECT_EQ(conv(tensor("1,8,8,8"), tensor("8,8,3,3"), R"("x", [1, 1], [1, 1], "float32")"),
            "none: stride is not given in numbers");
  EXPECT_EQ(conv(tensor("1,8,8,8"), tensor("8,8,3,3"), "[1, 1]"), "none: padding is missing");
  EXPECT_EQ(workload_text("conv2d_NCHWc.x86", "[]"), "none: tensors are missing");
  EXPECT_EQ(workload_text("conv2d_NCHWc.x86", "[3, 4]"), "none: an argument is no tensor");
  EXPECT_TRUE(absl::IsNotFound(foreign_workload(test_operators(), record("other", "[]", "[]")).status()));
}

TEST(ForeignWorkload, SizesBeyondAnythingRealAreRefusedBeforeTheyAreMultiplied) {
  const std::string rest = R"([1, 1], [1, 1], [1, 1], "NCHW", "NCHW", "float32")", huge = "4611686018427387905";
  const auto conv = [](const std::string& data, const std::string& weight, const std::string& rest) {
    return workload_text("conv2d_NCHWc.x86", "[" + data + "," + weight + "," + rest + "]");
  };
  // Channels that wrap to 4: without care these would be workloads.
  EXPECT_EQ(conv(tensor("1," + huge + ",8,8,4"), tensor("4,1,3,3,4,8"), rest),
            "none: a tensor of more than 2^31 elements");
  EXPECT_EQ(conv(tensor("1,8,70000,70000"), tensor("8,8,3,3"), rest), "none: a tensor of more than 2^31 elements");
  EXPECT_EQ(
      workload_text("dense_pack.x86", "[" + tensor("4, 8") + "," + tensor(huge + ", 8, 4") + R"(, null, "float32"])"),
      "none: a tensor of more than 2^31 elements");
  EXPECT_EQ(conv(tensor("1,8,8,8"), tensor("8,8,3,3"), R"([1, 1], [4294967296, 1], [1, 1], "NCHW", "NCHW", "float32")"),
            "none: padding beyond 2^31");
}

struct Mapped {
  Space space;
  std::optional<Config> config;
  std::string text() const { return config ? space.print(*config) : "none"; }
};

Mapped map(const db::ForeignRow& r, const std::string& workload, const Target& target) {
  Mapped m{make_space(parse_workload(workload), target), std::nullopt};
  m.config = foreign_config(r, target, m.space);
  if (m.config) {
    EXPECT_EQ(m.space.broken_constraint(*m.config), "") << m.text();
  }
  return m;
}

TEST(ForeignConfig, BlockedConvolutionsKeepTheirRegisterTile) {
  const std::string text = map(record("conv2d_NCHWc.x86", kConv, kBlocked), "conv2d()", avx512_of_two()).text();
  for (const char* part :
       {"algorithm=0", "oc_block=32", "ic_block=16", "tile_ow=8x7", "tile_oh=1", "order=1", "unroll_kw=1"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(ForeignConfig, BlocksAreCountedInVectors) {
  // Two vectors of sixteen lanes there are two of eight here; seven columns of them fit sixteen registers no more.
  const std::string text = map(record("conv2d_NCHWc.x86", kConv, kBlocked), "conv2d()", avx2()).text();
  EXPECT_THAT(text, HasSubstr("oc_block=16,"));
  EXPECT_THAT(text, testing::Not(HasSubstr("tile_ow=8x7")));
  const char* board =
      R"([["tile_co","sp",[8,8]],["tile_oh","sp",[28,2]],["tile_ow","sp",[14,4]],["reorder_0","re",[0,1,2,3,4,5,6,7,8,9]],["ann_reduce","an",["none","unroll"]],["ann_spatial","an",["unroll","unroll","vec"]]])";
  const std::string wide =
      map(record("conv2d_nchw_spatial_pack.arm_cpu", kConv, board, kBoard), "conv2d()", avx512_of_two()).text();
  for (const char* part : {"oc_block=32", "tile_ow=14x4", "tile_oh=2", "unroll_kw=1"})
    EXPECT_THAT(wide, HasSubstr(part));
}

TEST(ForeignConfig, AVectorAlongTheRowIsTheSameTileOnItsSide) {
  const char* board =
      R"([["tile_co","sp",[16,4]],["tile_oh","sp",[56,1]],["tile_ow","sp",[7,8]],["reorder_0","re",[0,1,2,3,4,5,6,9,7,8]],["ann_reduce","an",["none","none"]],["ann_spatial","an",["none","vec","unroll"]]])";
  const std::string text =
      map(record("conv2d_nchw_spatial_pack.arm_cpu", kConv, board, kBoard), "conv2d()", avx512_of_two()).text();
  for (const char* part : {"oc_block=32", "tile_ow=14x4", "unroll_kw=0"}) EXPECT_THAT(text, HasSubstr(part));
}

TEST(ForeignConfig, WinogradOnlyWhereItIsOffered) {
  const char* config =
      R"([["tile_p","sp",[49,4]],["tile_k","sp",[8,8]],["tile_c","sp",[16,4]],["ann_reduce","an",["unroll"]],["ann_spatial","an",["unroll","vec"]]])";
  const db::ForeignRow r = record("conv2d_nchw_winograd.arm_cpu", kConv, config, kBoard);
  const std::string text = map(r, "conv2d()", avx512_of_two()).text();
  for (const char* part : {"algorithm=4", "w_oc_block=32", "w_tile_p=4", "w_unroll_ic=4"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_EQ(map(r, "conv2d(stride=2)", avx512_of_two()).text(), "none");
}

TEST(ForeignConfig, DepthwiseAndDense) {
  const char* depthwise =
      R"([["tile_c","sp",[8,4]],["tile_h","sp",[28,2]],["tile_w","sp",[14,4]],["ann","an",["unroll","unroll","vec"]]])";
  const std::string text =
      map(record("depthwise_conv2d_nchw.arm_cpu", "[]", depthwise, kBoard), "depthwise_conv2d(c=32)", avx512_of_two())
          .text();
  for (const char* part : {"c_block=16", "tile_ow=14x4", "tile_oh=2"}) EXPECT_THAT(text, HasSubstr(part));
  const char* dense = R"([["tile_y","sp",[16,8]],["tile_x","sp",[24,32]],["tile_k","sp",[96,8]]])";
  const std::string product = map(record("dense_nopack.x86", "[]", dense), "dense()", avx512_of_two()).text();
  for (const char* part : {"n_block=32", "tile_m=8", "unroll_k=8"}) EXPECT_THAT(product, HasSubstr(part));
}

TEST(ForeignConfig, KnobsThatAreNotThereMapToNothing) {
  for (const char* name : {"conv2d_NCHWc.x86", "conv2d_nchw_spatial_pack.arm_cpu", "conv2d_nchw_winograd.arm_cpu",
                           "depthwise_conv2d_nchw.arm_cpu", "dense_pack.x86", "other"})
    for (const char* config : {"[]", "{}", "nonsense", R"([["tile_oc","sp",[]],["tile_ow","sp",["a"]]])",
                               R"([["tile_x","sp",[0]],["tile_y","sp",3]])"})
      EXPECT_TRUE(foreign_wishes(record(name, "[]", config), avx512_of_two()).empty()) << name << " " << config;
}

TEST(ForeignConfig, FactorsBeyondAnythingRealCountAsMissing) {
  for (const char* size : {"9223372036854775807", "4294967296", "18446744073709551615", "-3"}) {
    const std::string config =
        std::string(R"([["tile_x","sp",[24,)") + size + R"(]],["tile_y","sp",[16,8]],["tile_k","sp",[96,8]]])";
    EXPECT_TRUE(foreign_wishes(record("dense_nopack.x86", "[]", config), avx512_of_two()).empty()) << size;
  }
}

TEST(NearestConfig, TakesTheNearestThatIsValidAndLeavesOtherKnobsAlone) {
  const Space space("toy", 1, [](Knobs& k) {
    const int64_t a = k.choice("a", {1, 2, 4, 8, 16}, 1), b = k.choice("b", {1, 2, 4, 8, 16}, 1);
    k.choice("c", {0, 1}, 1);
    k.require("small", a * b <= 32);
  });
  const auto text = [&](const std::vector<Wish>& wishes) {
    const auto c = nearest_config(space, wishes);
    return c ? space.print(*c) : "none";
  };
  EXPECT_EQ(text({{"a", {8}}, {"b", {4}}}), "a=8,b=4,c=1");
  EXPECT_EQ(text({{"a", {7}}, {"elsewhere", {3}}}), "a=8,b=1,c=1");
  EXPECT_EQ(text({{"a", {16}, 2}, {"b", {4}}}), "a=16,b=2,c=1") << "what is worth less gives way";
  EXPECT_EQ(text({{"a", {16}}, {"b", {4}, 2}}), "a=8,b=4,c=1");
  const double exactly = std::numeric_limits<double>::infinity();
  EXPECT_EQ(text({{"a", {16}, exactly}, {"b", {16}}}), "a=16,b=2,c=1");
  EXPECT_EQ(text({{"a", {5}, exactly}}), "none");
  EXPECT_EQ(text({{"elsewhere", {5}, exactly}}), "none");
  EXPECT_EQ(text({}), space.print(space.default_config()));
}

struct Hub {
  std::unique_ptr<db::Store> store = [] {
    db::OpenOptions options;
    options.mode = db::OpenMode::kMemory;
    return *db::Store::open("memory", options);
  }();
  void add(db::ForeignRow r, const std::string& workload, double seconds) {
    r.workload = to_string(parse_workload(workload));
    r.seconds = seconds;
    r.hash += workload + std::to_string(seconds);
    ASSERT_TRUE(store->foreign().add_in_transaction(r, true).ok());
  }
  ForeignSeeds seeds(const std::string& workload, size_t most = 4) {
    const Workload w = parse_workload(workload);
    const Space space = make_space(w, avx512_of_two());
    auto seeds = foreign_seeds(store->foreign(), w, avx512_of_two(), space, most);
    EXPECT_TRUE(seeds.ok()) << seeds.status();
    texts.clear();
    for (const Config& c : seeds->configs) {
      EXPECT_TRUE(space.valid(c));
      texts.push_back(space.print(c));
    }
    return *seeds;
  }
  std::vector<std::string> texts;
};

std::string tile(int oc, int ow) {
  return "[[\"tile_ic\",\"sp\",[4,16]],[\"tile_oc\",\"sp\",[1," + std::to_string(oc) + "]],[\"tile_ow\",\"sp\",[1," +
         std::to_string(ow) + "]],[\"unroll_kw\",\"ot\",false]]";
}

TEST(ForeignSeeds, TheSameShapeGoesFirstWhateverTheLayoutThenTheNearest) {
  Hub hub;
  EXPECT_EQ(hub.seeds("conv2d()").records, 0u);
  hub.add(record("conv2d_NCHWc.x86", "[]", tile(16, 4)), "conv2d(h=28,w=28)", 1e-3);
  hub.add(record("conv2d_NCHWc.x86", "[]", tile(16, 8)), "conv2d(h=7,w=7)", 1e-3);
  EXPECT_EQ(hub.seeds("conv2d()").workload, to_string(parse_workload("conv2d(h=28,w=28)"))) << "the nearest";
  ASSERT_EQ(hub.texts.size(), 1u);
  EXPECT_THAT(hub.texts[0], HasSubstr("tile_ow=14x4"));
  hub.add(record("conv2d_NCHWc.x86", "[]", tile(32, 7)), "conv2d(layout=NCHW,epilogue=relu)", 1e-3);
  hub.seeds("conv2d()");
  ASSERT_EQ(hub.texts.size(), 1u);
  EXPECT_THAT(hub.texts[0], HasSubstr("oc_block=32"));
  EXPECT_EQ(hub.seeds("dense()").records, 0u) << "of another task";
}

TEST(ForeignSeeds, OfTheSameArchitectureFirstThenTheFastestEachOnceAndOnlySoMany) {
  Hub hub;
  hub.add(record("conv2d_NCHWc.x86", "[]", tile(4, 4), kBoard), "conv2d()", 1e-6);
  hub.add(record("conv2d_NCHWc.x86", "[]", tile(16, 7)), "conv2d()", 3e-3);
  hub.add(record("conv2d_NCHWc.x86", "[]", tile(32, 7)), "conv2d()", 1e-3);
  hub.add(record("conv2d_NCHWc.x86", "[]", tile(32, 7)), "conv2d()", 2e-3);
  db::ForeignRow failed = record("conv2d_NCHWc.x86", "[]", tile(64, 1));
  failed.workload = to_string(parse_workload("conv2d()")), failed.status = "run_failed", failed.seconds.reset();
  ASSERT_TRUE(hub.store->foreign().add_in_transaction(failed, true).ok());
  EXPECT_EQ(hub.seeds("conv2d()").records, 4u);
  ASSERT_EQ(hub.texts.size(), 3u);
  EXPECT_THAT(hub.texts[0], HasSubstr("oc_block=32"));
  EXPECT_THAT(hub.texts[1], HasSubstr("oc_block=16,ic_block=16,tile_ow=8x7"));
  EXPECT_THAT(hub.texts[2], HasSubstr("oc_block=16,ic_block=16,tile_ow=14x4"));
  EXPECT_EQ(hub.seeds("conv2d()", 2).configs.size(), 2u);
}

db::ForeignCount import_file(Hub& hub, const std::string& path, const Target& target) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  db::LineReader lines(in);
  EXPECT_TRUE(db::is_autotvm_log(lines));
  ForeignReader reader(test_operators(), target);
  const auto count = db::import_autotvm(*hub.store, lines, path, [&](const db::ForeignRow& r) { return reader(r); });
  EXPECT_TRUE(count.ok()) << count.status();
  return count.ok() ? *count : db::ForeignCount{};
}

TEST(ForeignLogs, AWholeLogImportsMapsAndSeeds) {
  const std::string log = HONE_SOURCE_DIR "/tests/data/autotvm_made_up.log";
  for (const Target& target : {avx512_of_two(), avx2()}) {
    Hub hub;
    const db::ForeignCount first = import_file(hub, log, target);
    EXPECT_EQ(first.records, 8);
    EXPECT_EQ(first.duplicates, 1);
    EXPECT_EQ(first.mapped, 9);
    EXPECT_EQ(first.skipped, 1) << "a transposed convolution";
    EXPECT_THAT(first.reasons,
                testing::Contains(testing::Pair("template conv2d_transpose_nchw.arm_cpu has no counterpart here", 1)));
    // On sixteen registers a tile may have nothing valid near it; that is counted too.
    int64_t without = 0;
    for (const auto& [reason, n] : first.reasons)
      if (reason.find("no config near") == 0) without += n;
    EXPECT_THAT(first.reasons, testing::Contains(testing::Pair("failed there (run_failed)", 1)));
    EXPECT_GE(first.seeds, 6);
    EXPECT_EQ(first.seeds + without + 1, first.mapped);
    const db::ForeignCount again = import_file(hub, log, target);
    EXPECT_EQ(again.records, 0);
    EXPECT_EQ(again.duplicates, 9);
    std::map<std::string, int> tasks;
    int failed = 0;
    const std::vector<db::ForeignRow> rows = hub.store->foreign().list().value();
    for (const db::ForeignRow& row : rows)
      ++tasks[std::string(workload_name(row.workload))], failed += row.status == "run_failed";
    EXPECT_EQ(tasks, (std::map<std::string, int>{{"conv2d", 5}, {"dense", 2}, {"depthwise_conv2d", 1}}));
    EXPECT_EQ(failed, 1);
    EXPECT_GE(hub.seeds("conv2d(ci=48,h=20,w=20,co=96)").configs.size(), 1u);
  }
}

}  // namespace
}  // namespace hone
