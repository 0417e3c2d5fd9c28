// Models to which denormals are zeros: their outputs and times, and the modes of the threads afterwards.
#include "compiler/ir/denormals.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>

#include "compiler/build/denormals.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/text.h"
#include "compiler/host/load_objects.h"
#include "compiler/model/build_model.h"
#include "compiler/model/check/check_layers.h"
#include "compiler/model/check/check_whole.h"
#include "compiler/model/check/oracle_kernels.h"
#include "compiler/model/model_data.h"
#include "compiler/model/run_model.h"
#include "compiler/ops/windows/physical.h"
#include "compiler/runtime/denormals/denormals.h"
#include "tests/fakes/default_layers.h"
#include "tests/fakes/denormals.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr float kTiny = 1e-39F;  // denormal

BuiltModel built(const Graph& g, Denormals denormals, const Target& target = host_target(1)) {
  ModelOptions options{"m", target, [](const Workload&, const Target&, const Space& space) {
                         return ChosenConfig{space.default_config(), "default", ""};
                       }};
  options.denormals = denormals;
  return build_model(g, options);
}

Graph graph_of(const std::string& text) { return parse_graph(test_operators(), "graph g\n" + text); }

// Rows times a matrix of normal numbers, and more rows than one thread takes.
Graph product() {
  return graph_of(R"(input "x" %x f32[512, 128]
%w = constant f32[128, 128] fill 1
%y = dense(m=512,n=128,k=128) %x %w
output "y" %y f32[512, 128]
)");
}

TensorData filled(const TensorType& type, float value) {
  std::string bytes;
  for (int64_t i = 0; i < element_count(type.shape); ++i) bytes.append(reinterpret_cast<const char*>(&value), 4);
  return {type, bytes};
}

std::vector<double> product_of(float x, Denormals denormals, int threads) {
  const Graph g = product();
  return LoadedModel(built(g, denormals, host_target(threads)), "m", threads)
      .run({filled(g.inputs[0].type, x)})[0]
      .values();
}

TEST(Denormals, AreZerosOnAllThreadsOrNumbers) {
  for (const int threads : {1, 2, 3}) {
    EXPECT_THAT(product_of(kTiny, Denormals::kZero, threads), Each(0)) << threads;
    EXPECT_THAT(product_of(kTiny, Denormals::kKeep, threads), testing::Contains(testing::Ne(0))) << threads;
    EXPECT_EQ(product_of(1, Denormals::kZero, threads), product_of(1, Denormals::kKeep, threads)) << threads;
  }
}

TEST(Denormals, AreZerosToEachVariantAndEachLayer) {
  const Graph one = product(), other = graph_of(R"(input "x" %x f32[256, 128]
%w = constant f32[128, 128] fill 1
%y = dense(m=256,n=128,k=128) %x %w
output "y" %y f32[256, 128]
)");
  ModelOptions options{"m", host_target(2), [](const Workload&, const Target&, const Space& space) {
                         return ChosenConfig{space.default_config(), "default", ""};
                       }};
  options.denormals = Denormals::kZero;
  const BuiltModel m = build_model({{"rows=512", &one, host_target(2)}, {"rows=256", &other, host_target(2)}}, options);
  for (size_t v = 0; v < 2; ++v) {
    LoadedModel loaded(m, "m", 2, v);
    const TensorData x = filled((v == 0 ? one : other).inputs[0].type, kTiny);
    EXPECT_THAT(loaded.run({x})[0].values(), Each(0));
    EXPECT_FALSE(loaded.run_again_timed().empty());
    EXPECT_THAT(loaded.outputs()[0].values(), Each(0)) << "layer by layer";
  }
}

// --- The modes of threads ---

// Modes that a caller may have: of x86 with flags raised, roundings of its own, denormals as zeros already.
std::vector<uint64_t> modes() {
  constexpr uint64_t usual = kUsualFloatMode;
#if defined(__x86_64__)
  return {usual, usual | 0x8000, usual | 0x40, usual | 0x8040, usual | 0x3f, usual | 0x2000, usual | 0x6000 | 0x15};
#elif defined(__aarch64__)
  return {usual, usual | UINT64_C(1) << 24, usual | UINT64_C(1) << 22, usual | UINT64_C(3) << 22};
#else
  return {usual};
#endif
}

// A runtime whose chunks run on threads of their own, each with a mode of its own, and that notes the mode behind a
// chunk.
struct Threads {
  std::vector<uint64_t> before, after;
  int32_t fails = HONE_OK;  ///< returned behind the first chunk, and none follows
  HoneRuntime runtime{HONE_RUNTIME_ABI, 2, this, &Threads::run, nullptr};

  static int32_t run(void* self, HoneChunk body, void* closure, int64_t iterations, int32_t, int64_t) {
    auto* threads = static_cast<Threads*>(self);
    const std::vector<uint64_t> all = modes();
    int32_t code = HONE_OK;
    const int64_t half = (iterations + 1) / 2;
    for (int64_t begin = 0; begin < iterations && !code; begin += half) {
      std::thread([&] {
        threads->before.push_back(all[threads->before.size() % all.size()]);
        hone_internal_set_float_mode(threads->before.back());
        code = body(begin, std::min(begin + half, iterations), begin > 0, closure);
        threads->after.push_back(hone_internal_float_mode());
      }).join();
      if (threads->fails) return threads->fails;
    }
    return code;
  }
};

// An artifact with its tensors, called with whatever runtime.
class DenormalCall {
 public:
  DenormalCall(const BuiltModel& m, float x) : artifact_(load_objects(m.objects[0].parts, "m")) {
    const HoneVariant& v = variant();
    for (int32_t p = 0; p < v.param_count; ++p) {
      const HoneTensorType& t = v.params[p].plain;
      tensors_.emplace_back(t.dtype, std::vector<int64_t>(t.shape, t.shape + t.ndim));
      std::fill_n(tensors_.back().as<float>(), tensors_.back().size(), x);
    }
    for (const HostTensor& t : tensors_) views_.push_back(t.view());
    arena_ = AlignedBuffer(v.run_workspace_bytes);
  }
  /// The code; `left_out` tensors are not passed.
  int32_t operator()(const HoneRuntime* rt, size_t left_out = 0) {
    return variant().run(views_.data(), static_cast<int32_t>(views_.size() - left_out), arena_.data(), rt);
  }
  std::vector<float> output() const {
    const HostTensor& y = tensors_.back();
    return {y.as<float>(), y.as<float>() + y.size()};
  }

 private:
  const HoneVariant& variant() const { return artifact_.description()->variants[0]; }

  Artifact artifact_;
  std::vector<HostTensor> tensors_;
  std::vector<const DLTensor*> views_;
  AlignedBuffer arena_;
};

// Every mode of the caller is the same after a call.
void expect_kept(const std::function<void()>& call) {
  const uint64_t usual = hone_internal_float_mode();
  for (const uint64_t mode : modes()) {
    hone_internal_set_float_mode(mode);
    call();
    const uint64_t now = hone_internal_float_mode();
    hone_internal_set_float_mode(usual);
    EXPECT_EQ(now, mode) << fmt::format("{:#x} became {:#x}", mode, now);
  }
}

TEST(Denormals, EachThreadHasItsOwnModeAfterwards) {
  DenormalCall call(built(product(), Denormals::kZero, host_target(2)), kTiny);
  Threads threads;
  const HoneRuntime old{HONE_RUNTIME_ABI_OLDEST, 2, &threads, &Threads::run, nullptr};
  ThreadPool pool({.workers = 2});
  for (const HoneRuntime* rt :
       std::initializer_list<const HoneRuntime*>{nullptr, &threads.runtime, &old, pool.runtime()})
    expect_kept([&] {
      EXPECT_EQ(call(rt), HONE_OK);
      EXPECT_THAT(call.output(), Each(0));
    });
  EXPECT_GE(threads.before.size(), 4 * modes().size()) << "chunks ran on threads";
  EXPECT_EQ(threads.after, threads.before);
}

TEST(Denormals, ModesAreKeptWhereACallFails) {
  DenormalCall call(built(product(), Denormals::kZero, host_target(2)), 1);
  Threads threads;
  threads.fails = HONE_PANIC;
  expect_kept([&] { EXPECT_EQ(call(&threads.runtime), HONE_PANIC); });
  EXPECT_EQ(threads.after, threads.before);
  expect_kept([&] { EXPECT_EQ(call(nullptr, /*left_out=*/1) & 0xff, HONE_BAD_ARGUMENTS); });
  // The weights that a first step looks for are missing.
  ModelOptions options{"m", host_target(1), [](const Workload&, const Target&, const Space& space) {
                         return ChosenConfig{space.default_config(), "default", ""};
                       }};
  options.denormals = Denormals::kZero;
  options.weights_file = "m.weights";
  DenormalCall without_weights(build_model(product(), options), 1);
  expect_kept([&] { EXPECT_EQ(HONE_WHAT_IS_WRONG(without_weights(nullptr)), HONE_NO_WEIGHTS); });
}

// Every entry of an artifact for another processor sets the mode and sets it again, and so does every chunk.
TEST(Denormals, ArtifactsForAarch64SetTheirMode) {
  const Graph g = product();
  const Target target = Target::parse("llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -threads=2");
  const auto writes = [&](Denormals denormals) {
    int count = 0;
    const BuiltModel m = built(g, denormals, target);
    for (const std::string& object : m.objects[0].parts)
      for (size_t at = 0; at + 4 <= object.size(); at += 4) {
        uint32_t word = 0;
        std::memcpy(&word, object.data() + at, 4);
        count += (word & ~0x1fU) == 0xd51b4400;  // msr fpcr, x<n>
      }
    return count;
  };
  EXPECT_EQ(writes(Denormals::kKeep), 0);
  EXPECT_EQ(writes(Denormals::kZero), 2 * 3) << "the model, its only layer, and a chunk";
}

// --- Time ---

// A smoothed input and a layer's function of it: the state decays, and 0.95 of the smallest denormals is themselves.
constexpr const char* kSmoothed = R"(input "x" %x f32[1, 512]
input "state" %s f32[1, 512]
%c = constant f32[1, 1] [0.95]
%w = constant f32[64, 512] fill 1
%k = elementwise(op=mul,shape=1x512,operands=1x1) %s %c
%n = elementwise(op=add,shape=1x512,operands=same) %k %x
%y = dense(m=1,n=64,k=512) %n %w
output "y" %y f32[1, 64]
output "next" %n f32[1, 512]
)";

TEST(Denormals, ADecayedStateIsNotSlower) {
  if (cost_of_denormals() < kAssist) GTEST_SKIP() << "this processor computes with denormals as with other numbers";
  const Graph g = graph_of(kSmoothed);
  std::vector<double> ratios;
  for (const Denormals denormals : {Denormals::kZero, Denormals::kKeep}) {
    LoadedModel silent(built(g, denormals), "m", 1), loud(built(g, denormals), "m", 1);
    const TensorType t = g.inputs[0].type;
    loud.run({filled(t, 1), filled(t, 1)});
    TensorData state = filled(t, 1);
    for (int call = 0; call < 2300; ++call) state = silent.run({filled(t, 0), state})[1];  // 0.95^2300 is 6e-52
    silent.run({filled(t, 0), state});
    // As a caller has them who does not reset states.
    const std::vector<double> left = state.values();
    if (denormals == Denormals::kZero)
      EXPECT_THAT(left, Each(0));
    else
      EXPECT_THAT(left, Each(testing::AllOf(testing::Gt(0), testing::Lt(1e-38))));
    ratios.push_back(times_as_long([&] { silent.run_again(); }, [&] { loud.run_again(); }));
  }
  EXPECT_LT(ratios[0], 2);
  EXPECT_GT(ratios[1], kAssist) << "the test sees what is slow";
}

TEST(Denormals, InputsThatAreDenormalAreNotSlower) {
  if (cost_of_denormals() < kAssist) GTEST_SKIP() << "this processor computes with denormals as with other numbers";
  const Graph g = product();
  for (const int threads : {1, 2}) {
    LoadedModel tiny(built(g, Denormals::kZero, host_target(threads)), "m", threads),
        usual(built(g, Denormals::kZero, host_target(threads)), "m", threads);
    tiny.run({filled(g.inputs[0].type, kTiny)});
    usual.run({filled(g.inputs[0].type, 1)});
    EXPECT_LT(times_as_long([&] { tiny.run_again(); }, [&] { usual.run_again(); }), 2) << threads;
  }
}

// --- The check ---

// A root makes the most of the little that vanishes.
constexpr const char* kRoots = R"(input "x" %x f32[4, 64]
%r = elementwise(op=sqrt,shape=4x64,dtype=f32) %x
output "y" %r f32[4, 64]
)";

TEST(Denormals, TheCheckKnowsThatTheyVanish) {
  const Graph g = graph_of(kRoots);
  const std::vector<TensorData> inputs{filled(g.inputs[0].type, kTiny)};
  const BuiltModel m = built(g, Denormals::kZero);
  EXPECT_THAT(LoadedModel(m, "m", 1).run(inputs)[0].values(), Each(0));  // not 3e-20
  const auto check = [&](Denormals denormals) {
    return check_layers(g, m.variants[0].layers, host_target(1), inputs, {.denormals = denormals});
  };
  const LayerCheck zero = check(Denormals::kZero), keep = check(Denormals::kKeep);
  EXPECT_EQ(zero.wrong, "");
  EXPECT_THAT(zero.outputs[0].values(), Each(0)) << "as the artifact computes them";
  EXPECT_EQ(keep.wrong, "");
  EXPECT_THAT(keep.outputs[0].values(), Each(testing::DoubleNear(std::sqrt(1e-39), 1e-25)));
}

TEST(Denormals, WhatIsWrongBesideThemIsFound) {
  const Graph g = graph_of(kRoots);
  Graph other = g;
  other.nodes[0].workload = parse_workload("elementwise(op=abs,shape=4x64,dtype=f32)");
  Layers layers = default_layers(g, host_target(1));
  layers.kernels[0].module = default_layers(other, host_target(1)).kernels[0].module;
  // One normal number among those that vanish.
  TensorData x = filled(g.inputs[0].type, kTiny);
  std::string bytes(x.bytes().begin(), x.bytes().end());
  const float normal = 0.25F;
  std::memcpy(bytes.data() + 40, &normal, 4);
  EXPECT_THAT(check_layers(g, layers, host_target(1), {TensorData(x.type(), bytes)}, {}).wrong,
              HasSubstr("output element 10 is 0.25, expected 0.5"));
}

TEST(Denormals, TheWholeMayBeOffByWhatTheyGrowTo) {
  // 1e-39 times 1e38.
  const Graph g = graph_of(R"(input "x" %x f32[4, 64]
%c = constant f32[1, 1] [1e38]
%y = elementwise(op=mul,shape=4x64,operands=1x1) %x %c
output "y" %y f32[4, 64]
)");
  const std::vector<TensorData> inputs{filled(g.inputs[0].type, kTiny)};
  const auto got = LoadedModel(built(g, Denormals::kZero), "m", 1).run(inputs);
  EXPECT_THAT(got[0].values(), Each(0));
  const WholeCheck zero = check_whole(g, g, host_target(1), inputs, got, {.denormals = Denormals::kZero}),
                   keep = check_whole(g, g, host_target(1), inputs, got, {.denormals = Denormals::kKeep});
  EXPECT_EQ(zero.wrong, "");
  EXPECT_NE(keep.wrong, "");
}

// Nodes that are not computed naively, but by kernels on all threads. 1e-39 times 1e30, in sums of 256.
TEST(Denormals, LargeNodesOfTheWholeAreComputedWithThemOrWithout) {
  const Workload w = parse_workload("dense(m=512,n=512,k=256)");
  const PhysicalTypes types = physical_types(w);
  const std::vector<TensorData> in{filled(types.inputs[0].type, kTiny), filled(types.inputs[1].type, 1e30F)};
  OracleKernels oracle(host_target(2));
  for (const Denormals denormals : {Denormals::kZero, Denormals::kKeep, Denormals::kZero, Denormals::kKeep}) {
    const double wanted = denormals == Denormals::kZero ? 0 : 256e-9;
    EXPECT_THAT(oracle.evaluate(w, in, denormals)[0].values(), Each(testing::DoubleNear(wanted, 1e-12)))
        << name_of(denormals);
  }
}

// --- descriptions of artifacts ---

TEST(Denormals, ArtifactsSayWhatTheyAre) {
  const Graph g = product();
  const BuiltModel zero = built(g, Denormals::kZero), keep = built(g, Denormals::kKeep);
  EXPECT_THAT(zero.json, HasSubstr(R"("denormals":"zero")"));
  EXPECT_THAT(keep.json, HasSubstr(R"("denormals":"keep")"));
  EXPECT_THAT(zero.header, HasSubstr("Denormal numbers of f32 and f64 are zeros to a call"));
  EXPECT_THAT(keep.header, HasSubstr("Denormal numbers are computed with"));
  EXPECT_EQ(ModelOptions().denormals, Denormals::kZero) << "the default that is written down";
}

TEST(Denormals, TextsAreReadAndOthersRefused) {
  for (const Denormals d : {Denormals::kKeep, Denormals::kZero}) EXPECT_EQ(parse_denormals(name_of(d)), d);
  EXPECT_THAT([] { parse_denormals("flush"); }, testing::ThrowsMessage<UserError>("denormals 'flush': keep or zero"));
}

TEST(Denormals, TheFlagIsOfCpus) {
  const Target cpu = host_target(1), gpu = Target::parse("opencl -sms=2");
  EXPECT_EQ(denormals_for(std::nullopt, cpu), kUsualDenormals);
  EXPECT_EQ(denormals_for(Denormals::kZero, cpu), Denormals::kZero);
  EXPECT_EQ(denormals_for(Denormals::kKeep, cpu), Denormals::kKeep);
  EXPECT_EQ(denormals_for(std::nullopt, gpu), Denormals::kKeep);
  EXPECT_EQ(denormals_for(Denormals::kKeep, gpu), Denormals::kKeep);
  EXPECT_THAT([&] { denormals_for(Denormals::kZero, gpu); },
              testing::ThrowsMessage<UserError>("--denormals zero is for CPUs: opencl keeps denormals, at full speed"));
}

}  // namespace
}  // namespace hone
