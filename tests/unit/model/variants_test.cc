// Models of several variants: the parts that they share, and the outputs of each.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>

#include "base/check.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/text.h"
#include "compiler/host/load_objects.h"
#include "compiler/ir/dlpack_type.h"
#include "compiler/model/build_model.h"
#include "compiler/model/model_data.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"
#include "compiler/runtime/c_objects.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

// A product of `rows` rows with weights, which one row alone packs otherwise by default than several; beside it
// something of a fixed size.
Graph product_in_variants(int64_t rows, const std::string& input = "x", int64_t fixed = 7) {
  return parse_graph(test_operators(), fmt::format(R"(graph g
input "{1}" %x f32[{0}, 128]
input "fixed" %f f32[{2}]
%w = constant f32[512, 128] fill 5
%y = dense(m={0},n=512,k=128) %x %w
%r = elementwise(op=exp,shape={2}) %f
output "y" %y f32[{0}, 512]
output "r" %r f32[{2}]
)",
                                                   rows, input, fixed));
}

struct ModelVariants : testing::Test {
  const Target target = host_target(2);
  const ModelOptions options{"m", target, [](const Workload&, const Target&, const Space& space) {
                               return ChosenConfig{space.default_config(), "default", ""};
                             }};

  void SetUp() override {
    if (variants_object(target.arch).empty()) GTEST_SKIP() << "built without a C compiler";
  }
  ModelVariant variant(const Graph& g, int threads = 2) const {
    ModelVariant v{fmt::format("rows={}, {} threads", g.inputs[0].type.shape[0], threads), &g, target};
    v.target.threads = threads;
    return v;
  }
  std::string refusal(const Graph& a, const Graph& b) const {
    try {
      build_model({variant(a), variant(b)}, options);
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  }
  static const Kernel& kernel_of(const BuiltModel& m, size_t variant, const std::string& task) {
    for (const Kernel& k : m.variants[variant].layers.kernels)
      if (k.workload.operator_name() == task) return k;
    throw std::runtime_error("no " + task);
  }
};

TEST_F(ModelVariants, PackAConstantAsTheFirstOneDoes) {
  Graph one = product_in_variants(1), many = product_in_variants(16);
  const BuiltModel apart = build_model({variant(one), variant(many)}, options), alone = build_model(one, options);
  ASSERT_NE(kernel_of(apart, 0, "dense").config, kernel_of(apart, 1, "dense").config);
  ASSERT_GT(apart.more_weight_bytes, 0) << "defaults pack them otherwise: this test says nothing any more";
  share_constants({&one, &many});
  const BuiltModel shared = build_model({variant(one), variant(many)}, options);
  EXPECT_EQ(shared.more_weight_bytes, 0);
  EXPECT_EQ(shared.weight_bytes, alone.weight_bytes);
  EXPECT_EQ(kernel_of(shared, 0, "dense").config, kernel_of(alone, 0, "dense").config);
  EXPECT_EQ(kernel_of(shared, 0, "dense").source, "default");
  EXPECT_EQ(kernel_of(shared, 1, "dense").source, "shared (packed as in another variant, else default)");
  // The other way round the one row follows, whose sums of one accumulator each have the same order.
  const BuiltModel turned = build_model({variant(many), variant(one)}, options);
  EXPECT_EQ(turned.weight_bytes, shared.weight_bytes);
  const std::vector<TensorData> inputs = seeded_inputs(many);
  const auto wanted = LoadedModel(build_model(many, options), "m", 2).run(inputs);
  EXPECT_EQ(LoadedModel(shared, "m", 2, 1).run(inputs)[0].values(), wanted[0].values());
  EXPECT_EQ(LoadedModel(turned, "m", 2, 0).run(inputs)[0].values(), wanted[0].values());
}

TEST_F(ModelVariants, ShareKernelsAndTheLargestArena) {
  const Graph one = product_in_variants(1), many = product_in_variants(16);
  const BuiltModel m = build_model({variant(one), variant(one, 1), variant(many)}, options);
  EXPECT_EQ(kernel_of(m, 0, "elementwise").symbol, kernel_of(m, 2, "elementwise").symbol);
  EXPECT_NE(kernel_of(m, 0, "dense").symbol, kernel_of(m, 2, "dense").symbol);
  std::set<std::string> symbols;
  for (const BuiltVariant& v : m.variants)
    for (const Kernel& k : v.layers.kernels) symbols.insert(k.symbol);
  EXPECT_EQ(m.kernels, symbols.size());
  EXPECT_LE(m.kernels, 5u) << "of 6";
  int64_t most = 0;
  for (const BuiltVariant& v : m.variants) most = std::max(most, v.memory.bytes);
  EXPECT_THAT(m.header, HasSubstr(fmt::format("#define M_ARENA_BYTES {}\n", most)));
}

// NAME and NAME_plain choose as NAME_run does, on any number of threads.
TEST_F(ModelVariants, EveryEntryChooses) {
  const Graph one = product_in_variants(1), many = product_in_variants(16);
  const BuiltModel m = build_model({variant(one), variant(one, 1), variant(many)}, options);
  std::vector<std::string> parts;
  for (const ArtifactObject& object : m.objects)
    if (!object.has_threads) parts.insert(parts.end(), object.parts.begin(), object.parts.end());
  const Artifact artifact = load_objects(parts, "m");
  AlignedBuffer arena(1 << 20);
  ThreadPool pool({.workers = 2, .cpus = {}});
  for (const Graph& g : {one, many}) {
    const std::vector<TensorData> inputs = seeded_inputs(g),
                                  wanted = LoadedModel(build_model(g, options), "m", 2).run(inputs);
    for (const char* suffix : {"", "_plain", "_run"})
      for (const HoneRuntime* runtime : {static_cast<const HoneRuntime*>(nullptr), pool.runtime()}) {
        std::vector<HostTensor> tensors;
        for (const TensorData& t : inputs) {
          tensors.emplace_back(dlpack_type(t.type().dtype), t.type().shape);
          std::memcpy(tensors.back().data(), t.bytes().data(), t.bytes().size());
        }
        for (const TensorData& t : wanted) tensors.emplace_back(dlpack_type(t.type().dtype), t.type().shape);
        std::vector<const DLTensor*> args;
        for (const HostTensor& t : tensors) args.push_back(t.view());
        const auto entry = reinterpret_cast<HoneEntry>(artifact.symbol(std::string("m") + suffix));
        ASSERT_EQ(entry(args.data(), 4, arena.data(), runtime), HONE_OK) << suffix;
        for (size_t o = 0; o < 2; ++o)
          EXPECT_EQ(std::memcmp(tensors[2 + o].data(), wanted[o].bytes().data(), wanted[o].bytes().size()), 0)
              << suffix;
      }
  }
}

TEST_F(ModelVariants, WhatCallsCannotTellApartIsRefused) {
  EXPECT_EQ(
      refusal(product_in_variants(4), product_in_variants(4)),
      "'rows=4, 2 threads' and 'rows=4, 2 threads' have inputs of the same shapes: calls could not tell them apart");
  EXPECT_THAT(refusal(product_in_variants(4), product_in_variants(5, "z")),
              HasSubstr("variants of one artifact have the same inputs"));
  EXPECT_EQ(refusal(product_in_variants(4), product_in_variants(4, "x", 8)), "") << "any input may tell them apart";
}

}  // namespace
}  // namespace hone
