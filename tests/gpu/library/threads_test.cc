// Threads on one device and one model, on devices of their own, and opening and closing at once.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/gpu/library/cuda_fixture.h"
#include "tests/gpu/library/opencl_fixture.h"

namespace hone {
namespace {

// The errors of `count` threads.
template <class F>
std::vector<std::string> in_threads(int count, const F& run) {
  std::vector<std::string> wrong(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back([&, t] { wrong[static_cast<size_t>(t)] = run(t); });
  for (std::thread& t : threads) t.join();
  std::erase(wrong, "");
  return wrong;
}

std::string calls_are_right(LibraryCall& call, HoneModel* model, const HoneRuntime* rt, int turns,
                            const std::vector<std::string>& want) {
  for (int turn = 0; turn < turns; ++turn) {
    const std::string refused = call.refusal(model, rt);
    if (!refused.empty()) return refused;
    if (rt && hone_gpu_wait(rt) != HONE_OK) return hone_gpu_last_error();
    if (call.take_outputs() != want) return "other outputs in turn " + std::to_string(turn);
  }
  return "";
}

constexpr int kThreadsHere = 4;

// One model on one device, on the CPU's tensors and the device's, with and without a runtime of their own; then each
// thread with a device of its own; then models that come and go.
void share(const std::string& path, const std::string& name, const std::vector<TensorData>& inputs,
           const std::vector<std::string>& want, int turns) {
  {
    const Model model = model_of(path);
    HoneGpuDevice* const gpu = hone_device(model.get());
    ASSERT_TRUE(gpu);
    EXPECT_THAT(in_threads(kThreadsHere,
                           [&](int t) {
                             LibraryCall call(model.get(), gpu, t % 2 ? &on_device : &on_cpu);
                             call.set(inputs);
                             const LibraryRuntime own = runtime_on(gpu, nullptr, t > 1);
                             return calls_are_right(call, model.get(), t > 0 ? own.get() : nullptr, turns, want);
                           }),
                testing::IsEmpty());
  }
  EXPECT_THAT(in_threads(kThreadsHere,
                         [&](int) {
                           const LibraryDevice gpu = device_of(name);
                           const LibraryRuntime own = runtime_on(gpu.get());
                           const Model model = model_on(path, own.get());
                           LibraryCall call(model.get(), gpu.get(), &on_device);
                           call.set(inputs);
                           return calls_are_right(call, model.get(), own.get(), turns, want);
                         }),
              testing::IsEmpty());
  EXPECT_THAT(in_threads(kThreadsHere,
                         [&](int) -> std::string {
                           for (int turn = 0; turn < turns; ++turn) {
                             const Model model = model_of(path);
                             if (!model) return "not opened";
                             LibraryCall call(model.get(), hone_device(model.get()), turn % 2 ? &on_device : &on_cpu);
                             call.set(inputs);
                             const std::string wrong = calls_are_right(call, model.get(), nullptr, 1, want);
                             if (!wrong.empty()) return wrong;
                           }
                           return "";
                         }),
              testing::IsEmpty());
}

struct OpenclThreads : OpenclLibrary {};
TEST_F(OpenclThreads, ShareADeviceAndAModel) {
  const InFile f = in_file(kLibraryNet, "threads");
  const std::vector<TensorData> inputs = seeded_inputs(f.graph);
  share(f.path, "opencl", inputs, wanted(f, inputs), 6);
}

struct CudaThreads : CudaLibrary {};
TEST_F(CudaThreads, ShareADeviceAndAModel) {
  const std::string path = in_file(kLibraryAdds, "cuda_threads");
  for (const FakeOrder order : {FakeOrder::kAtOnce, FakeOrder::kWhenWaited, FakeOrder::kOthersFirst}) {
    fake_->order = order;
    share(path, "cuda", inputs(), wanted(), 10);
  }
  fake_->order = FakeOrder::kAtOnce;
  expect_nothing_left();
}

}  // namespace
}  // namespace hone
