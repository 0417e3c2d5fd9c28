// The C half of artifacts' entries over tables of the tests' own: symbols that two dimensions share, errors, regions.
// The artifacts of tensorc are tested in tests/e2e/artifact, tests/unit/model and tests/fuzz/arguments.
#include "compiler/runtime/entry/entry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

namespace hone {
namespace {

constexpr uint64_t kCpu = uint64_t{1} << kDLCPU;
constexpr DLDataType kF32{kDLFloat, 32, 1};

// The fault and its tensor, counted from 1.
std::pair<int, int> wrong(int what, int tensor) { return {what, tensor}; }

int32_t done(const DLTensor* const*, int32_t, void*, const HoneRuntime*) { return 41; }

// x f32[batch, 3, length], mask f32[batch, length + 1], y f32[batch]: batch 1 to 8 by 2, length 0 to 5.
class SymbolsTest : public testing::Test {
 protected:
  SymbolsTest() {
    variant_.params = params_;
    variant_.param_count = 3;
    for (size_t i = 0; i < 3; ++i) {
      tensors_[i].data = memory_ + 16 * i;
      tensors_[i].device = {kDLCPU, 0};
      tensors_[i].dtype = kF32;
      tensors_[i].ndim = params_[i].plain.ndim;
      args_[i] = &tensors_[i];
    }
    set(4, 5, 6, 4);
  }

  void set(int64_t batch, int64_t length, int64_t masked, int64_t out) {
    shapes_[0] = {batch, 3, length}, shapes_[1] = {batch, masked}, shapes_[2] = {out};
    for (size_t i = 0; i < 3; ++i) tensors_[i].shape = shapes_[i].data();
  }
  std::pair<int, int> called() {
    const int32_t code = hone_entry1_run(&run_, args_, 3, nullptr, nullptr);
    if (code == 41) return wrong(0, 0);
    EXPECT_EQ(code & 0xff, HONE_BAD_ARGUMENTS);
    return {HONE_WHAT_IS_WRONG(code), HONE_WRONG_TENSOR(code)};
  }

  alignas(64) float memory_[64] = {};
  int64_t x_[3] = {7, 3, 5}, mask_[2] = {7, 6}, y_[1] = {7};
  HoneParam params_[3] = {{"x", HONE_INPUT, 0, {kF32, 3, x_}, nullptr, nullptr, nullptr},
                          {"mask", HONE_INPUT, 0, {kF32, 2, mask_}, nullptr, nullptr, nullptr},
                          {"y", HONE_OUTPUT, 0, {kF32, 1, y_}, nullptr, nullptr, nullptr}};
  HoneVariant variant_{};
  HoneSymbol symbols_[2] = {{"batch", 2, 8, 2}, {"length", 0, 5, 1}};
  HoneExtent of_x_[2] = {{0, 0, 0, 0}, {2, 1, 0, 0}}, of_mask_[2] = {{0, 0, 0, 0}, {1, 1, 1, 0}},
             of_y_[1] = {{0, 0, 0, 0}};
  HoneTensorCheck tensors_checks_[3] = {{kCpu, -1, 2, of_x_}, {kCpu, -1, 2, of_mask_}, {kCpu, -1, 1, of_y_}};
  HoneChecks checks_{tensors_checks_, symbols_, 2};
  HoneRun run_{&variant_, &checks_, &done, nullptr};
  std::vector<int64_t> shapes_[3];
  DLTensor tensors_[3] = {};
  const DLTensor* args_[3];
};

TEST_F(SymbolsTest, TheFirstTensorThatHasOneSaysItForAllOthers) {
  for (const int64_t batch : {2, 4, 8})
    for (const int64_t length : {0, 1, 5}) {
      set(batch, length, length + 1, batch);
      EXPECT_EQ(called(), wrong(0, 0)) << batch << " " << length;
    }
  set(4, 5, 5, 4);
  EXPECT_EQ(called(), wrong(HONE_WRONG_SHAPE, 2));
  set(4, 5, 6, 2);
  EXPECT_EQ(called(), wrong(HONE_WRONG_SHAPE, 3));
}

TEST_F(SymbolsTest, HaveALeastAMostAndAMultiple) {
  for (const int64_t batch : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{10}, int64_t{-2}, INT64_MIN, INT64_MAX}) {
    set(batch, 5, 6, batch);
    EXPECT_EQ(called(), wrong(HONE_WRONG_SHAPE, 1)) << batch;
  }
  for (const int64_t length : {int64_t{6}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    set(4, length, 6, 4);
    EXPECT_EQ(called(), wrong(HONE_WRONG_SHAPE, 1)) << length;
  }
  for (const int64_t masked : {int64_t{0}, INT64_MIN, INT64_MAX}) {  // length = masked - 1 is no number
    set(4, 5, masked, 4);
    EXPECT_EQ(called(), wrong(HONE_WRONG_SHAPE, 2)) << masked;
  }
}

TEST_F(SymbolsTest, StridesAreThoseOfTheShapeOfTheCall) {
  int64_t strides[3] = {6, 2, 1};
  set(4, 2, 3, 4);
  tensors_[0].strides = strides;
  EXPECT_EQ(called(), wrong(0, 0));
  strides[0] = 15;  // of the largest length
  EXPECT_EQ(called(), wrong(HONE_WRONG_STRIDES, 1));
  of_x_[1].room = 5;  // room for it
  EXPECT_EQ(called(), wrong(HONE_WRONG_STRIDES, 1));
  strides[1] = 5;
  EXPECT_EQ(called(), wrong(0, 0));
  tensors_[0].strides = nullptr;  // no gaps
  EXPECT_EQ(called(), wrong(HONE_WRONG_STRIDES, 1));
}

TEST_F(SymbolsTest, NoElementsNeedNoData) {
  set(4, 0, 1, 4);
  tensors_[0].data = nullptr;
  EXPECT_EQ(called(), wrong(0, 0));
  set(4, 1, 2, 4);
  EXPECT_EQ(called(), wrong(HONE_WRONG_DATA, 1));
  tensors_[0].data = memory_, tensors_[0].byte_offset = 2;
  EXPECT_EQ(called(), wrong(HONE_WRONG_ALIGNMENT, 1));
}

TEST_F(SymbolsTest, OneMayHaveToBeginWhereAnotherDoes) {
  tensors_checks_[1].begins_with = 0;
  EXPECT_EQ(called(), wrong(HONE_WRONG_DATA, 2));
  tensors_[1].data = tensors_[0].data;
  EXPECT_EQ(called(), wrong(0, 0));
  tensors_checks_[0].devices = tensors_checks_[1].devices = kCpu | uint64_t{1} << kDLCUDA;
  tensors_[1].device = {kDLCUDA, 0};
  EXPECT_EQ(called(), wrong(HONE_WRONG_DEVICE, 2));
  tensors_[0].device = {kDLCUDA, 0};
  EXPECT_EQ(called(), wrong(0, 0));
  tensors_[0].device = tensors_[1].device = {kDLCPU, 0};
  set(4, 0, 1, 4);
  tensors_[1].data = memory_ + 8;  // the other one has no elements
  EXPECT_EQ(called(), wrong(0, 0));
}

TEST_F(SymbolsTest, DevicesAreThoseOfTheTable) {
  for (const int device : {-1, 0, static_cast<int>(kDLCUDA), 63, 64, 65, INT32_MAX, INT32_MIN}) {
    tensors_[2].device.device_type = static_cast<DLDeviceType>(device);
    EXPECT_EQ(called(), wrong(HONE_WRONG_DEVICE, 3)) << device;
  }
}

TEST_F(SymbolsTest, ARuntimeWithoutItsGpuIsRefused) {
  const HoneGpuProgram program{};
  variant_.gpu = &program;
  HoneRuntime rt{HONE_RUNTIME_ABI, 1, nullptr, nullptr, nullptr};
  HoneGpu gpu{};
  const auto code = [&](const HoneRuntime* given) { return hone_entry1_run(&run_, args_, 3, nullptr, given); };
  const int32_t refused = HONE_BAD_ARGUMENTS | HONE_WRONG_RUNTIME << 8;
  EXPECT_EQ(code(nullptr), refused);
  EXPECT_EQ(code(&rt), refused);
  rt.gpu = &gpu;
  EXPECT_EQ(code(&rt), refused);
  gpu.run_plain = [](void*, const HoneGpuProgram*, const DLTensor* const*, int32_t, const HoneRuntime*) { return 0; };
  EXPECT_EQ(code(&rt), 41);
  rt.abi_version = HONE_RUNTIME_ABI_OLDEST;  // which ends before `gpu`
  EXPECT_EQ(code(&rt), refused);
}

TEST(Errors, EveryCodeHasASentence) {
  std::vector<std::string> texts;
  for (int i = 0; i < 2 * HONE_TENSOR_WRONGS + 3; ++i) texts.push_back("wrong " + std::to_string(i));
  std::vector<const char*> wrongs;
  for (const std::string& text : texts) wrongs.push_back(text.c_str());
  const char* const codes[] = {"ok", "fault"};
  const HoneErrors errors{codes, wrongs.data(), 2, 1, 3};
  const auto text = [&](uint32_t code) { return std::string(hone_entry1_error(&errors, static_cast<int32_t>(code))); };
  const std::string unknown = "a code that is unknown here";
  EXPECT_EQ(text(0), "ok");
  EXPECT_EQ(text(1), "fault");
  EXPECT_EQ(text(HONE_BAD_ARGUMENTS), "wrong 0");
  EXPECT_EQ(text(HONE_BAD_ARGUMENTS | 9 << 8), "wrong 9");
  EXPECT_EQ(text(HONE_BAD_ARGUMENTS | 9 << 8 | 1 << 16), "wrong 19");
  EXPECT_EQ(text(HONE_BAD_ARGUMENTS | 10 << 8), "wrong 20");
  EXPECT_EQ(text(HONE_BAD_ARGUMENTS | 12 << 8), "wrong 22");
  for (const uint32_t code : {3U, 4U, 0xffU, 0x100U, 0xffffffffU, 0x80000000U, 0x7fffff01U,
                              HONE_BAD_ARGUMENTS | 13U << 8, HONE_BAD_ARGUMENTS | 10U << 8 | 1U << 16,
                              HONE_BAD_ARGUMENTS | 1U << 8 | 2U << 16, HONE_BAD_ARGUMENTS | 0xffffff00U})
    EXPECT_EQ(text(code), unknown) << code;
}

struct Ran {
  std::atomic<int> threads[3] = {};
};
template <int kThread, int kCode>
int32_t thread_steps(const DLTensor* const*, void* workspace, const void* weights) {
  if (std::strcmp(static_cast<const char*>(weights), "weights") != 0) return 99;
  ++static_cast<Ran*>(workspace)->threads[kThread];
  return kCode;
}

TEST(Regions, RunEachThreadOnceWithAndWithoutARuntime) {
  const HoneThreadSteps threads[] = {&thread_steps<0, 0>, nullptr, &thread_steps<2, 0>};
  const HoneRegion region{threads, 3};
  int64_t iterations = 0;
  const HoneRuntime rt{HONE_RUNTIME_ABI, 2, &iterations,
                       [](void* self, HoneChunk body, void* closure, int64_t n, int32_t, int64_t) -> int32_t {
                         *static_cast<int64_t*>(self) = n;
                         const int32_t first = body(1, n, 1, closure);
                         return first ? first : body(0, 1, 0, closure);
                       },
                       nullptr};
  for (const HoneRuntime* given : {static_cast<const HoneRuntime*>(nullptr), &rt}) {
    Ran ran;
    EXPECT_EQ(hone_entry1_region(&region, nullptr, &ran, "weights", given), HONE_OK);
    EXPECT_EQ(ran.threads[0], 1);
    EXPECT_EQ(ran.threads[2], 1);
  }
  EXPECT_EQ(iterations, 3);
}

TEST(Regions, EndWithTheCodeThatAStepGave) {
  const HoneThreadSteps threads[] = {&thread_steps<0, 0>, &thread_steps<1, HONE_NO_RESULT>, &thread_steps<2, 0>};
  const HoneRegion region{threads, 3};
  Ran ran;
  EXPECT_EQ(hone_entry1_region(&region, nullptr, &ran, "weights", nullptr), HONE_NO_RESULT);
  EXPECT_EQ(ran.threads[2], 0);
}

TEST(Regions, AShareRunsItsOwnIterations) {
  const int64_t ranges[][2] = {{1, 3}, {7, 8}};
  HoneShare share{5, 2, ranges};
  std::vector<int64_t> seen;
  const HoneChunk body = [](int64_t begin, int64_t end, int32_t worker, void* all) -> int32_t {
    static_cast<std::vector<int64_t>*>(all)->insert(static_cast<std::vector<int64_t>*>(all)->end(),
                                                    {begin, end, worker});
    return begin == 7 ? 3 : 0;
  };
  EXPECT_EQ(hone_entry1_share_for(&share, body, &seen, 100, 9, 1), 3);
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 3, 5, 7, 8, 5}));
}

TEST(Rows, StandBehindThoseThatAreThere) {
  const HoneRow row{2, 3, 12};  // two matrices of four rows of three bytes
  char cache[24], from[] = "abcdef";
  std::memset(cache, '.', sizeof cache);
  char count[9] = {};
  const int64_t rows = 2;
  std::memcpy(count + 1, &rows, sizeof rows);
  hone_entry1_row(&row, from, cache, count + 1);
  EXPECT_EQ(std::string(cache, 24), "......abc.........def...");
}

TEST(GpuEntries, AskForTheWeightsOfModelsAndOfTheirParts) {
  const void* mapped = nullptr;
  HoneGpuModel model{};
  model.head.abi_version = HONE_GPU_MODEL_ABI;
  model.mapped_weights = &mapped;
  HoneGpuPart part{};
  part.head.abi_version = HONE_GPU_PART_ABI;
  part.whole = &model;
  HoneGpuProgram alone{};
  alone.abi_version = HONE_RUNTIME_ABI;
  const HoneGpu gpu{
      nullptr, [](void*, const HoneGpuProgram*, const DLTensor* const*, int32_t, void*) { return 51; },
      [](void*, const HoneGpuProgram*, const DLTensor* const*, int32_t, const HoneRuntime*) { return 52; }};
  const HoneRuntime rt{HONE_RUNTIME_ABI, 1, nullptr, nullptr, &gpu};
  const int32_t missing = HONE_BAD_ARGUMENTS | HONE_NO_WEIGHTS << 8;
  EXPECT_EQ(hone_entry1_gpu(&alone, nullptr, 0, nullptr, &rt), 51);
  EXPECT_EQ(hone_entry1_gpu(&model.head, nullptr, 0, nullptr, &rt), missing);
  EXPECT_EQ(hone_entry1_gpu_plain(&part.head, nullptr, 0, nullptr, &rt), missing);
  mapped = &model;
  EXPECT_EQ(hone_entry1_gpu(&model.head, nullptr, 0, nullptr, &rt), 51);
  EXPECT_EQ(hone_entry1_gpu_plain(&part.head, nullptr, 0, nullptr, &rt), 52);
  model.head.abi_version = HONE_GPU_MODEL_ABI_OLDEST;  // which ends before `mapped_weights`
  mapped = nullptr;
  EXPECT_EQ(hone_entry1_gpu(&model.head, nullptr, 0, nullptr, &rt), 51);
  EXPECT_EQ(hone_entry1_gpu(&alone, nullptr, 0, nullptr, nullptr), HONE_BAD_ARGUMENTS);
}

}  // namespace
}  // namespace hone
