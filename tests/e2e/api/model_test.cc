// libhone_runtime with artifacts of models: several inputs and outputs, errors for wrong ones, and times of
// layers.
#include <gmock/gmock.h>
#include <hone.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/e2e/api/tensors.h"
#include "tests/fakes/pair_model.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The PairModel and its tensors: left, right, bytes; product, sum, same.
struct Pair : testing::Test {
  static constexpr int64_t kM = PairModel::kM, kN = PairModel::kN, kK = PairModel::kK;
  const TemporaryFolder folder;
  const Model model = opened(folder, PairModel(), "pair");
  Tensors t{model.get()};

  Pair() {
    for (int i = 0; i < kM * kK; ++i) t.all[0]->data<float>()[i] = static_cast<float>(i % 7 - 3);
    for (int i = 0; i < kN * kK; ++i) t.all[1]->data<float>()[i] = static_cast<float>(i % 5 - 2);
    for (int i = 0; i < kM * kN; ++i) t.all[2]->data<uint8_t>()[i] = static_cast<uint8_t>(i * 9);
  }
  void expect_right() {
    for (int64_t i = 0; i < kM; ++i)
      for (int64_t j = 0; j < kN; ++j) {
        float product = 0;
        for (int64_t k = 0; k < kK; ++k)
          product += t.all[0]->data<float>()[i * kK + k] * t.all[1]->data<float>()[j * kK + k];
        const int64_t at = i * kN + j;
        const uint8_t byte = t.all[2]->data<uint8_t>()[at];
        EXPECT_EQ(t.all[3]->data<float>()[at], product);
        EXPECT_EQ(t.all[4]->data<float>()[at], product + byte);
        EXPECT_EQ(t.all[5]->data<uint8_t>()[at], byte);
      }
  }
  void clear_outputs() {
    for (size_t o = 3; o < 6; ++o) std::fill(t.all[o]->memory.begin(), t.all[o]->memory.end(), char{77});
  }
  // The error about tensor number `which`, from 0, after `change`.
  template <class Change>
  std::string with(size_t which, int what, const Change& change) {
    DLTensor& tensor = t.all[which]->tensor;
    const DLTensor was = tensor;
    change(tensor);
    const int32_t code = t.run(model.get(), nullptr);
    tensor = was;
    EXPECT_EQ(code & 0xff, HONE_BAD_ARGUMENTS);
    EXPECT_EQ(HONE_WHAT_IS_WRONG(code), what);
    EXPECT_EQ(HONE_WRONG_TENSOR(code), static_cast<int32_t>(which) + 1);
    const std::string words = hone_last_error();
    EXPECT_EQ(t.run(model.get(), nullptr), HONE_OK);
    return words;
  }
};

TEST_F(Pair, HasItsInputsAndOutputsAndRuns) {
  std::vector<std::string> names;
  for (int32_t i = 0; i < hone_input_count(model.get()); ++i) names.push_back(hone_input(model.get(), i)->name);
  for (int32_t i = 0; i < hone_output_count(model.get()); ++i) names.push_back(hone_output(model.get(), i)->name);
  EXPECT_THAT(names, testing::ElementsAre("left", "right", "bytes", "product", "sum", "same"));
  EXPECT_EQ(hone_input(model.get(), 2)->plain.dtype.code, kDLUInt);
  EXPECT_EQ(hone_input(model.get(), 2)->plain.dtype.bits, 8);
  for (const int threads : {0, 1, 3}) {
    const Pool pool(threads > 0 ? hone_pool_new(threads) : nullptr);
    clear_outputs();
    EXPECT_EQ(t.run(model.get(), pool.get()), HONE_OK) << hone_last_error();
    expect_right();
  }
}

TEST_F(Pair, SaysWhichTensorIsWrongAndHow) {
  int64_t other[] = {6, 7}, gaps[] = {8, 1};
  EXPECT_EQ(with(0, HONE_WRONG_DATA, [](DLTensor& x) { x.data = nullptr; }),
            "pair: input 'left' is missing or has no data");
  EXPECT_EQ(with(1, HONE_WRONG_DEVICE, [](DLTensor& x) { x.device.device_type = kDLCUDA; }),
            "pair: input 'right' is not on the CPU");
  EXPECT_EQ(with(2, HONE_WRONG_DTYPE, [](DLTensor& x) { x.dtype.code = kDLInt; }),
            "pair: input 'bytes' is of another type than uint8 [6, 5]");
  EXPECT_EQ(with(3, HONE_WRONG_SHAPE, [](DLTensor& x) { x.ndim = 1; }),
            "pair: output 'product' has another shape than float32 [6, 5]; given is [6]");
  EXPECT_EQ(with(3, HONE_WRONG_SHAPE, [](DLTensor& x) { x.ndim = 3; }),
            "pair: output 'product' has another shape than float32 [6, 5]; given are 3 dimensions");
  EXPECT_EQ(with(4, HONE_WRONG_SHAPE, [&](DLTensor& x) { x.shape = other; }),
            "pair: output 'sum' has another shape than float32 [6, 5]; given is [6, 7]");
  EXPECT_EQ(with(4, HONE_WRONG_SHAPE, [](DLTensor& x) { x.shape = nullptr; }),
            "pair: output 'sum' has another shape than float32 [6, 5]");
  EXPECT_EQ(with(5, HONE_WRONG_STRIDES, [&](DLTensor& x) { x.strides = gaps; }),
            "pair: output 'same' is not row-major without gaps, uint8 [6, 5]");
  EXPECT_EQ(with(1, HONE_WRONG_ALIGNMENT, [](DLTensor& x) { x.byte_offset = 2; }),
            "pair: input 'right' is not aligned to its elements, 4 bytes");
  const DLTensor* const bytes = std::exchange(t.inputs[2], nullptr);
  EXPECT_EQ(t.run(model.get(), nullptr), HONE_BAD_ARGUMENTS | HONE_WRONG_DATA << 8 | 3 << 16);
  EXPECT_STREQ(hone_last_error(), "pair: input 'bytes' is missing or has no data");
  t.inputs[2] = bytes;
  clear_outputs();
  EXPECT_EQ(with(2, HONE_WRONG_DATA, [](DLTensor& x) { x.data = nullptr; }),
            "pair: input 'bytes' is missing or has no data");
  expect_right();
}

TEST_F(Pair, SaysWhatElseIsWrong) {
  for (const auto& [in, out] : {std::pair{2, 3}, {4, 3}, {3, 2}, {3, 4}, {0, 0}, {-1, 3}}) {
    EXPECT_EQ(hone_run(model.get(), t.inputs.data(), in, t.outputs.data(), out, nullptr),
              HONE_BAD_ARGUMENTS | HONE_WRONG_COUNT << 8);
    EXPECT_EQ(hone_last_error(),
              "pair takes 3 inputs and 3 outputs, given were " + std::to_string(in) + " and " + std::to_string(out));
  }
  // The entry itself, as who has no libhone_runtime calls it.
  const HoneArtifact* a = hone_artifact(model.get());
  const HoneVariant& v = a->variants[0];
  std::vector<const DLTensor*> args = t.inputs;
  args.insert(args.end(), t.outputs.begin(), t.outputs.end());
  std::vector<char> memory(static_cast<size_t>(v.run_workspace_bytes) + 128);
  char* const workspace = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  const auto says = [&](int32_t code, int what) {
    EXPECT_EQ(code, HONE_BAD_ARGUMENTS | what << 8);
    return std::string(a->error(code));
  };
  EXPECT_EQ(v.run(args.data(), 6, workspace, nullptr), HONE_OK);
  for (const int32_t n : {5, 7, 0, -1, -6})
    EXPECT_EQ(says(v.run(args.data(), n, workspace, nullptr), HONE_WRONG_COUNT),
              "pair takes 6 tensors: left, right, bytes, product, sum, same");
  EXPECT_THAT(says(v.run(nullptr, 6, workspace, nullptr), HONE_WRONG_COUNT), StartsWith("pair takes 6 tensors"));
  EXPECT_THAT(says(v.run(args.data(), 6, workspace + 4, nullptr), HONE_WRONG_WORKSPACE),
              HasSubstr("not aligned to 64 bytes"));
  for (const int32_t version : {HONE_RUNTIME_ABI_OLDEST - 1, HONE_RUNTIME_ABI + 1}) {
    const HoneRuntime unknown{version, 1, nullptr, nullptr, nullptr};
    EXPECT_EQ(says(v.run(args.data(), 6, workspace, &unknown), HONE_WRONG_RUNTIME),
              "pair: the runtime is of a version that it does not know");
  }
}

// Whoever was compiled when runtimes had no GPU has a struct that ends before that member.
TEST_F(Pair, ReadsNothingBeyondAnOlderRuntime) {
  struct OlderRuntime {
    int32_t abi_version, workers;
    void* self;
    int32_t (*parallel_for)(void*, HoneChunk, void*, int64_t, int32_t, int64_t);
  };
  const auto in_order = [](void*, HoneChunk body, void* closure, int64_t n, int32_t, int64_t) {
    return n > 0 ? body(0, n, 0, closure) : 0;
  };
  // In memory of just its size, so that an address sanitizer sees more.
  const auto older = std::make_unique<OlderRuntime>(OlderRuntime{HONE_RUNTIME_ABI_OLDEST, 2, nullptr, +in_order});
  clear_outputs();
  EXPECT_EQ(t.run(model.get(), reinterpret_cast<const HoneRuntime*>(older.get())), HONE_OK);
  expect_right();
}

TEST_F(Pair, LayersAreOfTheUsersNodesAndRunOneByOne) {
  const int32_t count = hone_layer_count(model.get());
  std::vector<std::string> layers;
  for (int32_t i = 0; i < count; ++i)
    layers.push_back(std::string(hone_layer(model.get(), i)->name) + ": " + hone_layer(model.get(), i)->workload);
  ASSERT_GE(count, 2);
  EXPECT_THAT(layers, testing::Contains(StartsWith("MatMul_product: batch_matmul(b=1,m=6,")));
  EXPECT_THAT(layers, testing::Contains(StartsWith("Cast_floats + Add_sum: elementwise(")));
  EXPECT_EQ(layers.back(), "same: copy");
  for (const int32_t beyond : {-1, count, INT32_MAX}) EXPECT_EQ(hone_layer(model.get(), beyond), nullptr);
  std::vector<double> seconds(static_cast<size_t>(count), -1);
  clear_outputs();
  EXPECT_EQ(t.time(model.get(), nullptr, &seconds), HONE_OK) << hone_last_error();
  expect_right();
  EXPECT_THAT(seconds, testing::Each(testing::Ge(0)));
}

TEST_F(Pair, TimesOfAnotherNumberOfLayersAreRefused) {
  const auto count = static_cast<size_t>(hone_layer_count(model.get()));
  for (const size_t room : {count - 1, count + 1, size_t{0}}) {
    std::vector<double> seconds(room);
    EXPECT_EQ(t.time(model.get(), nullptr, &seconds), HONE_BAD_ARGUMENTS);
    EXPECT_EQ(hone_last_error(),
              "pair has " + std::to_string(count) + " layers, given was room for the times of " + std::to_string(room));
  }
  EXPECT_EQ(hone_run_timed(model.get(), t.inputs.data(), 3, t.outputs.data(), 3, nullptr, nullptr,
                           static_cast<int32_t>(count)),
            HONE_BAD_ARGUMENTS);
  EXPECT_THAT(hone_last_error(), HasSubstr("room for the times of 0"));
  // Tensors are checked as hone_run checks them, and nothing is timed.
  std::vector<double> seconds(count, -1);
  t.all[4]->tensor.dtype.bits = 64;
  EXPECT_EQ(HONE_WHAT_IS_WRONG(t.time(model.get(), nullptr, &seconds)), HONE_WRONG_DTYPE);
  EXPECT_STREQ(hone_last_error(), "pair: output 'sum' is of another type than float32 [6, 5]");
  EXPECT_THAT(seconds, testing::Each(-1));
  EXPECT_EQ(hone_run_timed(model.get(), t.inputs.data(), 2, t.outputs.data(), 3, nullptr, seconds.data(),
                           static_cast<int32_t>(count)),
            HONE_BAD_ARGUMENTS | HONE_WRONG_COUNT << 8);
}

TEST(LayerTimes, AddUpToLessThanTheCallsTime) {
  const TemporaryFolder folder;
  const Model model = opened(folder, SmallModel(), "small");
  Tensors t(model.get());
  for (int i = 0; i < 3 * 20 * 20; ++i) t.all[0]->data<float>()[i] = static_cast<float>(i % 17) / 8 - 1;
  ASSERT_EQ(hone_layer_count(model.get()), 7);
  EXPECT_STREQ(hone_layer(model.get(), 0)->name, "c1 + r1");
  EXPECT_THAT(hone_layer(model.get(), 0)->workload, StartsWith("conv2d(n=1,ci=3,"));
  ASSERT_EQ(t.run(model.get(), nullptr), HONE_OK) << hone_last_error();
  const std::vector<char> wanted = t.all[1]->memory;
  for (const int threads : {0, 1, 3}) {
    const Pool pool(threads > 0 ? hone_pool_new(threads) : nullptr);
    std::vector<double> seconds(7, -1);
    std::fill(t.all[1]->memory.begin(), t.all[1]->memory.end(), char{0});
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(t.time(model.get(), pool.get(), &seconds), HONE_OK) << hone_last_error();
    const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_THAT(seconds, testing::Each(testing::Gt(0)));
    EXPECT_LE(std::accumulate(seconds.begin(), seconds.end(), 0.0), whole);
    EXPECT_EQ(t.all[1]->memory, wanted);
  }
}

// Each layer finds them by itself.
TEST(LayerTimes, OfAModelWhoseWeightsAreInAFile) {
  const TemporaryFolder folder;
  const Model model = opened(folder, SmallModel(), "small", "--weights " + folder.path() + "/small.w");
  Tensors t(model.get());
  ASSERT_EQ(t.run(model.get(), nullptr), HONE_OK) << hone_last_error();
  const std::vector<char> wanted = t.all[2]->memory;
  std::vector<double> seconds(static_cast<size_t>(hone_layer_count(model.get())), -1);
  ASSERT_EQ(t.time(model.get(), nullptr, &seconds), HONE_OK) << hone_last_error();
  EXPECT_THAT(seconds, testing::Each(testing::Gt(0)));
  EXPECT_EQ(t.all[2]->memory, wanted);
}

}  // namespace
}  // namespace hone
