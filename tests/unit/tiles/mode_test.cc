// Configurations of threads: ours during a call, the caller's afterwards.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "compiler/build/build.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/host/load_objects.h"
#include "compiler/host/local_kernel.h"
#include "compiler/ir/dlpack_type.h"
#include "compiler/runtime/denormals/denormals.h"
#include "compiler/runtime/thread_pool.h"
#include "tests/fakes/workloads.h"
#include "tests/unit/tiles/tile_model.h"

namespace hone {
namespace {

using testing::IsEmpty;

Module product(int threads, const char* text = "dense(m=64,n=64,k=64,dtype=bf16:bf16:f32:f32)") {
  const Target target = target_with_tiles(threads);
  const Workload w = parse_workload(text);
  const Space space = make_space(w, target);
  return lower_config(w, target, space, space.default_config());
}

// A process that may use tiles already, and a thread with other ones.
std::vector<uint8_t> other_tiles() {
  std::vector<uint8_t> config(64);
  config[0] = 1;
  config[16] = 32, config[48] = 8;
  return config;
}

class TileMode : public testing::Test {
 protected:
  void SetUp() override { reset_tile_model(); }
  void TearDown() override { EXPECT_THAT(tile_faults(), IsEmpty()); }
};

TEST_F(TileMode, IsTheCallersAgainAfterACall) {
  LocalKernel kernel(product(1), target_with_tiles(1), {}, Denormals::kKeep, TileCode::kModel);
  for (const std::vector<uint8_t>& config : {std::vector<uint8_t>(64), other_tiles()}) {
    set_tile_config(config);
    ASSERT_EQ(kernel.run_here(), HONE_OK);
    EXPECT_EQ(tile_config(), config);
  }
  EXPECT_EQ(tile_counts().releases, 1) << "of the thread that had none";
  EXPECT_EQ(tile_counts().configurations, 3) << "ours twice, theirs once";
  EXPECT_EQ(tile_counts().requests, 1) << "a process asks once";
  EXPECT_EQ(tile_counts().products, 2 * 4 * 4 * 2);
}

TEST_F(TileMode, IsLeftAloneWhereTheThreadHasFullTilesAlready) {
  LocalKernel kernel(product(1), target_with_tiles(1), {}, Denormals::kKeep, TileCode::kModel);
  std::vector<uint8_t> full(64);
  full[0] = 1;
  for (size_t t = 0; t < 8; ++t) full[16 + 2 * t] = 64, full[48 + t] = 16;
  ASSERT_EQ(kernel.run_here(), HONE_OK);
  set_tile_config(full);
  ASSERT_EQ(kernel.run_here(), HONE_OK);
  EXPECT_EQ(tile_config(), full);
  EXPECT_EQ(tile_counts().configurations, 1) << "of the first call";
}

// Runs chunks on threads that have tiles of their own.
struct OtherThreads {
  HoneRuntime runtime{HONE_RUNTIME_ABI, 2, this, &parallel_for, nullptr};
  int changed = 0, chunks = 0;

  static int32_t parallel_for(void* self, HoneChunk body, void* closure, int64_t iterations, int32_t, int64_t) {
    int32_t code = HONE_OK;
    for (int64_t i = 0; i < iterations; ++i)
      std::thread([&] {
        set_tile_config(other_tiles());
        if (const int32_t own = body(i, i + 1, static_cast<int32_t>(i % 2), closure)) code = own;
        ++static_cast<OtherThreads*>(self)->chunks;
        static_cast<OtherThreads*>(self)->changed += tile_config() != other_tiles();
      }).join();
    return code;
  }
};

// An artifact with tensors, to be called on any runtime.
struct Loaded {
  explicit Loaded(const Module& m)
      : artifact(load_objects({emit_object(m, target_with_tiles(2), {.tile_code = TileCode::kModel})})),
        workspace(m.workspace_bytes) {
    for (const Param& p : m.params) tensors.emplace_back(dlpack_type(p.dtype), p.layout.physical_shape());
    for (const HostTensor& t : tensors) views.push_back(t.view());
  }
  int32_t run(const HoneRuntime* runtime) {
    return artifact.entry()(views.data(), static_cast<int32_t>(views.size()), workspace.data(), runtime);
  }
  Artifact artifact;
  AlignedBuffer workspace;
  std::vector<HostTensor> tensors;
  std::vector<const DLTensor*> views;
};

TEST_F(TileMode, IsAThreadsAgainAfterAChunk) {
  Loaded loaded(product(2));
  OtherThreads others;
  ASSERT_EQ(loaded.run(&others.runtime), HONE_OK);
  EXPECT_GT(others.chunks, 1);
  EXPECT_EQ(others.changed, 0);
  EXPECT_EQ(tile_config(), std::vector<uint8_t>(64));
}

TEST_F(TileMode, IsThatOfEachArtifactOnTheThreadsOfOnePool) {
  Loaded one(product(2)), other(product(2, "conv2d(ci=64,h=8,w=8,co=64,layout=NHWC,dtype=u8:s8:s32:s32)"));
  ThreadPool pool({.workers = 2, .cpus = {}});
  for (int call = 0; call < 20; ++call) ASSERT_EQ((call % 2 ? one : other).run(pool.runtime()), HONE_OK);
  std::atomic<int> configured{0}, looked{0};
  struct Look {
    std::atomic<int>*configured, *looked;
    static int32_t run(int64_t, int64_t, int32_t, void* self) {
      *static_cast<Look*>(self)->configured += tile_config() != std::vector<uint8_t>(64);
      ++*static_cast<Look*>(self)->looked;
      return HONE_OK;
    }
  } look{&configured, &looked};
  const HoneRuntime* runtime = pool.runtime();
  ASSERT_EQ(runtime->parallel_for(runtime->self, &Look::run, &look, 2, 2, 1), HONE_OK);
  EXPECT_GT(looked, 0);
  EXPECT_EQ(configured, 0);
  EXPECT_EQ(tile_counts().requests, 2) << "each artifact asks once";
}

TEST_F(TileMode, GoesWithDenormalsAsZeros) {
  LocalKernel kernel(product(1), target_with_tiles(1), {}, Denormals::kZero, TileCode::kModel);
  set_tile_config(other_tiles());
  const uint64_t mode = hone_internal_float_mode();
  ASSERT_EQ(kernel.run_here(), HONE_OK);
  EXPECT_EQ(tile_config(), other_tiles());
  EXPECT_EQ(hone_internal_float_mode(), mode);
}

TEST_F(TileMode, IsNoneWhereTheKernelRefuses) {
  reset_tile_model(/*allows=*/false);
  LocalKernel kernel(product(2), target_with_tiles(2), {}, Denormals::kKeep, TileCode::kModel);
  ASSERT_EQ(kernel.run(), HONE_OK);
  ASSERT_EQ(kernel.run(), HONE_OK);
  EXPECT_EQ(tile_counts().requests, 1);
  EXPECT_EQ(tile_counts().configurations, 0);
}

TEST_F(TileMode, IsNoneOfKernelsWithoutTiles) {
  const std::string text = emit_asm_text(product(1, "dense(m=64,n=64,k=64)"), target_with_tiles(1));
  EXPECT_EQ(text.find("tilecfg"), std::string::npos);
  EXPECT_EQ(text.find("syscall"), std::string::npos);
}

}  // namespace
}  // namespace hone
