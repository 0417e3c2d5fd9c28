// libhone_runtime with a model of several variants: three batches, each on one thread and on two.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/e2e/api/tensors.h"
#include "tests/fakes/small_model.h"

namespace hone {
namespace {

using testing::StartsWith;

struct Variants : testing::Test {
  static constexpr int64_t kBatches[] = {1, 2, 5};
  const TemporaryFolder folder;
  const Model model = opened(folder, SmallModel(SmallModel::kFree), "several", "--bind 'batch=1|2|5' --threads '1|2'");
  const Pool two{hone_pool_new(2)}, four{hone_pool_new(4)};

  static void fill(Tensors& t) {
    auto* const image = t.all[0]->data<float>();
    for (size_t i = 0; i < (t.all[0]->memory.size() - 64) / sizeof(float); ++i)
      image[i] = static_cast<float>(i % 17) / 8 - 1;
  }
  // The outputs of the variant, run as hone_run chooses it.
  std::vector<std::vector<char>> computed(HoneModel* m, int32_t variant, const HoneRuntime* pool) const {
    Tensors t(m, variant);
    fill(t);
    EXPECT_EQ(t.run(m, pool), HONE_OK) << hone_last_error();
    return {t.all[1]->memory, t.all[2]->memory};
  }
  // Which variant is found for images of this shape.
  int32_t found(std::vector<int64_t> shape, const HoneRuntime* pool) const {
    DLTensor image{};
    image.ndim = static_cast<int32_t>(shape.size());
    image.shape = shape.data();
    const DLTensor* inputs[] = {&image};
    return hone_find_variant(model.get(), inputs, 1, pool);
  }
};

TEST_F(Variants, AreListedByShapesAndThreads) {
  ASSERT_EQ(hone_variant_count(model.get()), 6);
  for (int32_t v = 0; v < 6; ++v) {
    EXPECT_EQ(hone_variant(model.get(), v)->workers, v % 2 == 0 ? 2 : 1);
    EXPECT_EQ(hone_variant_input(model.get(), v, 0)->plain.shape[0], kBatches[v / 2]);
    EXPECT_STREQ(hone_variant_output(model.get(), v, 1)->name, "features");
    EXPECT_EQ(hone_variant_output(model.get(), v, 1)->plain.shape[0], kBatches[v / 2]);
    EXPECT_GE(hone_variant_layer_count(model.get(), v), 6);
    EXPECT_THAT(hone_variant_layer(model.get(), v, 0)->workload,
                StartsWith("conv2d(n=" + std::to_string(kBatches[v / 2])));
  }
  EXPECT_EQ(hone_input(model.get(), 0), hone_variant_input(model.get(), 0, 0));
  EXPECT_EQ(hone_layer(model.get(), 0), hone_variant_layer(model.get(), 0, 0));
  for (const int32_t beyond : {-1, 6, INT32_MAX}) {
    EXPECT_EQ(hone_variant(model.get(), beyond), nullptr);
    EXPECT_EQ(hone_variant_input(model.get(), beyond, 0), nullptr);
    EXPECT_EQ(hone_variant_output(model.get(), beyond, 0), nullptr);
    EXPECT_EQ(hone_variant_layer_count(model.get(), beyond), 0);
    EXPECT_EQ(hone_variant_layer(model.get(), beyond, 0), nullptr);
  }
  for (const int32_t beyond : {-1, 1, INT32_MAX}) EXPECT_EQ(hone_variant_input(model.get(), 0, beyond), nullptr);
}

TEST_F(Variants, AreFoundByShapesAndThreads) {
  for (int32_t b = 0; b < 3; ++b) {
    EXPECT_EQ(found({kBatches[b], 3, 20, 20}, nullptr), 2 * b + 1);
    EXPECT_EQ(found({kBatches[b], 3, 20, 20}, two.get()), 2 * b);
    EXPECT_EQ(found({kBatches[b], 3, 20, 20}, four.get()), 2 * b);
  }
  const std::vector<std::pair<std::vector<int64_t>, std::string>> others = {
      {{3, 3, 20, 20}, "[3, 3, 20, 20]"}, {{1, 3, 20}, "[1, 3, 20]"}, {{1, 3, 20, 21}, "[1, 3, 20, 21]"}, {{}, "[]"}};
  for (const auto& [other, given] : others) {
    EXPECT_LT(found(other, two.get()), 0);
    EXPECT_EQ(hone_last_error(),
              "several: input 'image' has a shape that no variant has; there are float32 [1, 3, 20, 20], [2, 3, 20, "
              "20], [5, 3, 20, 20]; given is " +
                  given);
  }
  EXPECT_LT(hone_find_variant(model.get(), nullptr, 1, nullptr), 0);
  EXPECT_STREQ(hone_last_error(), "several takes 1 inputs, given were 0");
}

TEST_F(Variants, ComputeWhatAModelOfThatBindingAloneDoes) {
  for (int32_t v = 0; v < 6; ++v) {
    const int32_t threads = hone_variant(model.get(), v)->workers;
    const Model alone =
        opened(folder, SmallModel(SmallModel::kFree), "alone" + std::to_string(v),
               "--bind batch=" + std::to_string(kBatches[v / 2]) + " --threads " + std::to_string(threads));
    const HoneRuntime* const pool = threads == 2 ? two.get() : nullptr;
    EXPECT_EQ(computed(model.get(), v, pool), computed(alone.get(), 0, pool)) << v;
  }
}

TEST_F(Variants, OutputsOfAnotherVariantAreRefused) {
  Tensors small(model.get(), 0), large(model.get(), 4);
  fill(large);
  std::swap(large.outputs[1], small.outputs[1]);
  const int32_t code = large.run(model.get(), two.get());
  EXPECT_EQ(HONE_WHAT_IS_WRONG(code), HONE_WRONG_SHAPE);
  EXPECT_EQ(HONE_WRONG_TENSOR(code), 3);
  EXPECT_STREQ(
      hone_last_error(),
      "several: output 'features' has a shape that no variant has beside those of the tensors before it; there "
      "are float32 [1, 16, 9, 9], [2, 16, 9, 9], [5, 16, 9, 9]; given is [1, 16, 9, 9]");
  large.outputs[1] = nullptr;
  EXPECT_EQ(HONE_WHAT_IS_WRONG(large.run(model.get(), two.get())), HONE_WRONG_DATA);
  EXPECT_STREQ(hone_last_error(), "several: output 'features' is missing or has no data");
}

TEST_F(Variants, HaveLayersAndTimesOfTheirOwn) {
  for (int32_t v = 0; v < 6; ++v) {
    const HoneRuntime* const pool = v % 2 == 0 ? two.get() : nullptr;
    Tensors t(model.get(), v);
    fill(t);
    std::vector<double> seconds(static_cast<size_t>(hone_variant_layer_count(model.get(), v)), -1);
    ASSERT_EQ(t.time(model.get(), pool, &seconds), HONE_OK) << hone_last_error();
    EXPECT_THAT(seconds, testing::Each(testing::Gt(0)));
    EXPECT_EQ(t.all[2]->memory, computed(model.get(), v, pool)[1]) << "the layers one by one are the whole";
  }
}

// Callers with other variants, at once, and in the child of a fork.
TEST_F(Variants, RunAtOnce) {
  std::vector<std::vector<std::vector<char>>> wanted;
  for (int32_t v = 0; v < 6; ++v) wanted.push_back(computed(model.get(), v, v % 2 == 0 ? two.get() : nullptr));
  const auto is_right = [&](int32_t v) {
    return computed(model.get(), v, v % 2 == 0 ? two.get() : nullptr) == wanted[static_cast<size_t>(v)];
  };
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int32_t c = 0; c < 6; ++c)
    callers.emplace_back([&, c] {
      for (int32_t turn = 0; turn < 30; ++turn) right += is_right((c + turn) % 6);
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(right, 180);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(is_right(0) && is_right(3) && is_right(4) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Artifacts of others: an artifact that is made up here.
TEST(MadeUpVariants, ThatDifferInMoreThanShapesAreRefused) {
  static const int64_t shape[] = {4};
  const HoneTensorType type{{kDLFloat, 32, 1}, 1, shape};
  const HoneParam in{"in", HONE_INPUT, 1, type, nullptr, nullptr, nullptr},
      out{"out", HONE_OUTPUT, 1, type, nullptr, nullptr, nullptr};
  const HoneParam first[] = {in, out}, turned[] = {out, in};
  for (const HoneVariant& other : {HoneVariant{turned, 2, 1, 0, 0, nullptr, nullptr, nullptr},
                                   HoneVariant{first, 1, 1, 0, 0, nullptr, nullptr, nullptr}}) {
    const HoneVariant variants[] = {{first, 2, 1, 0, 0, nullptr, nullptr, nullptr}, other};
    const HoneArtifact artifact{HONE_ARTIFACT_ABI, 2, variants, "odd", "llvm", "{}", nullptr};
    HoneModel* model = nullptr;
    EXPECT_EQ(hone_open_linked(&artifact, &model), HONE_NO_ARTIFACT);
    EXPECT_STREQ(hone_last_error(), "hone_open_linked: the artifact's variants differ in more than shapes");
    EXPECT_EQ(model, nullptr);
  }
}

}  // namespace
}  // namespace hone
