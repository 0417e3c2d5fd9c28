// Tensors on the CPU over CUDA: through pinned memory, and beside the layers that neither need nor change them.
#include <set>

#include "tests/unit/gpu_calls/gpu_calls_fixture.h"

namespace hone {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kSmall = 256, kLarge = 65536;

using Copies = GpuCalls;

TEST_F(Copies, TensorsOnTheCpuGoThroughPinnedMemory) {
  AddsModel adds(kSmall, 1, 2);
  adds.add(tensor(0), tensor(0), arena(0)).add(arena(0), tensor(0), tensor(1)).add(arena(0), tensor(1), tensor(2));
  for (const FakeOrder order : kFakeOrders) {
    close(), open();
    GpuCall call(adds, gpu_.get(), &lies_on_cpu);
    fake_->order = order;
    for (int turn = 0; turn < 5; ++turn) {
      fake_->calls.clear();
      run_well(call, turn);
      EXPECT_EQ(count("cuMemHostAlloc 3072"), turn == 0 ? 1 : 0) << "an input and two outputs, made once";
      EXPECT_EQ(count("cuMemcpyHtoDAsync 1024"), 1);
      EXPECT_EQ(count("cuMemcpyDtoHAsync 1024"), 2);
    }
    EXPECT_EQ(fake_->pageable, 0);
    EXPECT_EQ(fake_->pinned, 1);
    EXPECT_EQ(fake_->streams, 0) << "nothing is large";
  }
  expect_nothing_left();
}

TEST_F(Copies, ModelsOfADeviceShareThePinnedMemory) {
  AddsModel small(kSmall, 1, 1), large(5 * kSmall, 1, 1);
  for (AddsModel* const m : {&small, &large}) m->add(tensor(0), tensor(0), arena(0)).add(arena(0), arena(0), tensor(1));
  GpuCall one(small, gpu_.get(), &lies_on_cpu), other(large, gpu_.get(), &lies_on_cpu);
  for (int turn = 0; turn < 3; ++turn) {
    fake_->calls.clear();
    run_well(one, turn);
    run_well(other, turn);
    EXPECT_EQ(count("cuMemHostAlloc"), turn == 0 ? 2 : 0) << "it grows once";
    EXPECT_EQ(fake_->pinned, 1) << "what was too small is freed";
  }
  expect_nothing_left();
}

TEST_F(Copies, WithoutPinnedMemoryTheDriverCopiesPageableMemory) {
  AddsModel adds(kSmall, 1, 1);
  adds.add(tensor(0), tensor(0), arena(0)).add(arena(0), arena(0), tensor(1));
  fake_->failures = {{"cuMemHostAlloc", 2}};
  GpuCall call(adds, gpu_.get(), &lies_on_cpu);
  for (int turn = 0; turn < 6; ++turn) {
    fake_->order = kFakeOrders[turn % 3];
    run_well(call, turn);
  }
  EXPECT_EQ(count("cuMemHostAlloc"), 1) << "it is not asked again";
  EXPECT_EQ(fake_->pageable, 6 * 2);
  fake_->failures.clear();
  expect_nothing_left();
}

// in1 is needed by the fourth layer; out0 is ready behind the second one. Two inputs, two outputs.
struct Overlaps : GpuCalls {
  Overlaps() {
    adds_.add(tensor(0), tensor(0), arena(0)).add(arena(0), tensor(0), tensor(2));
    adds_.add(arena(0), arena(0), arena(1)).add(arena(1), tensor(1), arena(0));
    adds_.add(arena(0), arena(1), arena(1)).add(arena(1), arena(0), tensor(3));
  }
  AddsModel adds_{kLarge, 2, 2};
};

// Each order of the streams shows another tie between them that is missing.
TEST_F(Overlaps, LargeTensorsAreCopiedBesideTheLayers) {
  for (const FakeOrder order : kFakeOrders)
    for (const bool is_callers : {false, true}) {
      SCOPED_TRACE(static_cast<int>(order));
      close(), open();
      void* const stream = is_callers ? new_stream() : nullptr;
      {
        const LibraryRuntime rt = runtime(stream);
        GpuCall call(adds_, gpu_.get(), &lies_on_cpu);
        fake_->order = order;
        for (int turn = 0; turn < 4; ++turn) {
          fake_->calls.clear(), fake_->streams_used.clear();
          run_well(call, turn, rt.get());
          // Six layers, cut behind the second one, and behind the third, which is a launch by itself.
          EXPECT_EQ(count("cuLaunchKernel"), turn == 0 ? 6 : 1);
          EXPECT_EQ(count("cuGraphInstantiate"), turn == 1 ? 2 : 0);
          EXPECT_EQ(count("cuGraphLaunch"), turn == 0 ? 0 : 2);
          EXPECT_EQ(count("cuMemcpyHtoDAsync 262144"), 2);
          EXPECT_EQ(count("cuMemcpyDtoHAsync 262144"), 2);
          const std::set<void*> used(fake_->streams_used.begin(), fake_->streams_used.end());
          EXPECT_EQ(used.size(), 3u) << "the call's, one there, one back";
          EXPECT_TRUE(used.count(stream));
        }
        EXPECT_EQ(fake_->pageable, 0);
        EXPECT_EQ(fake_->streams, is_callers ? 3 : 2);
        EXPECT_EQ(fake_->events, 1);
        fake_->order = FakeOrder::kAtOnce;
      }
      if (stream) destroy_stream(stream);
    }
  expect_nothing_left();
}

// The copy of in1 is sent behind the layers that do not need it, not in front of them; that of out0 in front of the
// layers that do not change it.
TEST_F(Overlaps, CopiesStandBetweenTheLayers) {
  GpuCall call(adds_, gpu_.get(), &lies_on_cpu);
  run_well(call, 0);
  std::vector<std::string> order;
  for (const std::string& c : fake_->calls)
    if (c.rfind("cuLaunchKernel", 0) == 0 || c.rfind("cuMemcpy", 0) == 0)
      order.push_back(c.substr(0, std::strlen("cuMemcpyDtoH")));
  const std::string launch = "cuLaunchKern", there = "cuMemcpyHtoD", back = "cuMemcpyDtoH";
  EXPECT_THAT(order, testing::ElementsAre(there, launch, launch, back, launch, there, launch, launch, launch, back));
  expect_nothing_left();
}

// On the device already, they are not copied, and nothing is cut. Each set of tensors has recordings of its own.
TEST_F(Overlaps, OnlyWhatIsCopiedIsCut) {
  for (int set = 0; set < 16; ++set) {
    SCOPED_TRACE(set);
    GpuCall call(adds_, gpu_.get(), [set](size_t t) { return (set >> t) & 1; });
    const bool is_late = !(set & 2), is_early = !(set & 4);
    for (int turn = 0; turn < 3; ++turn) {
      fake_->order = kFakeOrders[turn];
      fake_->calls.clear();
      call.set(set + turn);
      ASSERT_EQ(call.run(rt_.get()), "");
      EXPECT_EQ(count("cuGraphLaunch"), turn == 0 ? 0 : is_late || is_early ? 2 : 1);
      EXPECT_EQ(count("cuStreamWaitEvent"), (is_late ? 1 : 0) + (is_early ? 2 : 0));
      fake_->order = FakeOrder::kAtOnce;
      EXPECT_EQ(call.outputs(), call.wanted());
    }
  }
  expect_nothing_left();
}

TEST_F(Overlaps, SmallTensorsAreCopiedBeforeAndBehind) {
  // All of them together are large.
  AddsModel adds(kLarge / 2, 2, 2);
  adds.add(tensor(0), tensor(0), tensor(2)).add(tensor(0), tensor(0), arena(0)).add(arena(0), tensor(1), tensor(3));
  GpuCall call(adds, gpu_.get(), &lies_on_cpu);
  for (int turn = 0; turn < 3; ++turn) {
    fake_->calls.clear();
    run_well(call, turn);
    EXPECT_EQ(count("cuGraphLaunch"), turn == 0 ? 0 : 1);
  }
  EXPECT_EQ(fake_->streams, 0);
  EXPECT_EQ(fake_->events, 0);
  expect_nothing_left();
}

// A host function waits for the stream, and so for the copy that it needs.
TEST_F(Overlaps, AHostFunctionHasWhatWasCopiedBesideTheLayers) {
  AddsModel adds(kLarge, 2, 2);
  adds.add(tensor(0), tensor(0), arena(0)).add(arena(0), arena(0), arena(1)).on_host(tensor(1), tensor(2));
  adds.add(arena(1), arena(0), arena(0)).add(arena(0), arena(1), tensor(3));
  for (const FakeOrder order : kFakeOrders) {
    close(), open();
    GpuCall call(adds, gpu_.get(), &lies_on_cpu);
    fake_->order = order;
    for (int turn = 0; turn < 3; ++turn) run_well(call, turn);
    EXPECT_EQ(fake_->streams, 2);
  }
  expect_nothing_left();
}

TEST_F(Overlaps, WhereStreamsOrPinnedMemoryAreRefusedResultsAreTheSame) {
  for (const char* const function : {"cuStreamCreate", "cuEventCreate", "cuMemHostAlloc"}) {
    SCOPED_TRACE(function);
    close(), open();
    fake_->failures = {{function, 2}};
    GpuCall call(adds_, gpu_.get(), &lies_on_cpu);
    const bool has_streams = function == std::string("cuMemHostAlloc");
    for (int turn = 0; turn < 3; ++turn) {
      fake_->calls.clear();
      fake_->order = kFakeOrders[turn];
      run_well(call, turn);
      if (turn > 0) {
        EXPECT_EQ(count(function), 0) << "asked once";
      }
      // Without pinned memory in1 goes beside the layers nevertheless; out0 would keep the host.
      EXPECT_EQ(count("cuStreamWaitEvent"), has_streams ? 1 : 0);
    }
    fake_->order = FakeOrder::kAtOnce;
  }
  fake_->failures.clear();
  expect_nothing_left();
}

// Whatever was sent to any stream is done when a call that failed returns.
TEST_F(Overlaps, ACallThatFailsInTheMidstLeavesNothingBehind) {
  for (const FakeOrder order : kFakeOrders) {
    close(), open();
    GpuCall call(adds_, gpu_.get(), &lies_on_cpu);
    int failed = 0;
    for (int turn = 0; turn < 3; ++turn)
      for (const char* const function :
           {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuLaunchKernel", "cuGraphLaunch", "cuEventRecord",
            "cuStreamWaitEvent", "cuMemAlloc", "cuMemHostAlloc", "cuGraphAddKernelNode"}) {
        SCOPED_TRACE(function + std::to_string(turn));
        fake_->order = order;
        call.set(turn + 50);
        fake_->failures = {{function, 2}};
        const std::string words = call.run(rt_.get());
        fake_->failures.clear();
        if (!words.empty()) {
          ++failed;
          EXPECT_THAT(words, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
        }
        run_well(call, turn);
      }
    EXPECT_GE(failed, 3 * 5);
  }
  expect_nothing_left();
}

// Copies beside a call that failed are waited for: their pinned memory may go.
TEST_F(Overlaps, CopiesOfACallThatFailedAreWaitedFor) {
  AddsModel larger(4 * kLarge, 2, 2);
  larger.add(tensor(0), tensor(1), tensor(2)).add(tensor(0), tensor(0), tensor(3));
  struct Failure {
    int on_device;  // a bit for each tensor
    const char* function;
  };
  // out0 is on its way when in1 cannot be sent; in1 is on its way when the layers cannot be told to wait for it.
  for (const Failure& f : {Failure{1, "cuMemcpyHtoDAsync"}, Failure{1 | 4 | 8, "cuStreamWaitEvent"}}) {
    SCOPED_TRACE(f.function);
    close(), open();
    {
      GpuCall call(adds_, gpu_.get(), [&](size_t t) { return (f.on_device >> t) & 1; });
      run_well(call, 0), run_well(call, 1);
      call.set(2);
      fake_->order = FakeOrder::kWhenWaited;
      fake_->failures = {{f.function, 2}};
      EXPECT_NE(call.run(rt_.get()), "");
      fake_->failures.clear();
      GpuCall(larger, gpu_.get(), &lies_on_cpu).run(rt_.get());
      fake_->order = FakeOrder::kAtOnce;
      for (int turn = 3; turn < 5; ++turn) run_well(call, turn);
    }
    close();
    EXPECT_THAT(fake_->wrong, IsEmpty());
  }
  expect_nothing_left();
}

// Blocks of 20 end with an illegal address, which the wait for all reports.
TEST_F(Overlaps, ADeviceThatIsLostBesideACopy) {
  AddsModel adds(20 * 32, 1, 1);
  adds.add(tensor(0), tensor(0), arena(0)).add(arena(0), arena(0), tensor(1));
  for (const FakeOrder order : kFakeOrders) {
    // The driver is lost for good: another one.
    close();
    fake_ = symbol<FakeCudaReset>(kFakeCudaReset)();
    open();
    GpuCall call(adds, gpu_.get(), &lies_on_cpu);
    call.set(1);
    fake_->order = order;
    EXPECT_THAT(call.run(rt_.get()), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
    EXPECT_THAT(call.run(rt_.get()), HasSubstr("the device is lost: "));
    EXPECT_THAT(call.outputs()[0], Each(-1)) << "nothing half done";
  }
  expect_nothing_left();
}

// Pinned memory that the device may yet write to is not freed, and the driver is not asked.
TEST_F(Overlaps, ADeviceThatDoesNotEndKeepsThePinnedMemory) {
  {
    GpuCall call(adds_, gpu_.get(), &lies_on_cpu);
    run_well(call, 0);
    hone_gpu_set_limit(gpu_.get(), 0.01);
    fake_->order = FakeOrder::kWhenWaited;
    fake_->is_never_ready = true;
    EXPECT_THAT(call.run(rt_.get()), HasSubstr("did not end within 0.01 s"));
    EXPECT_THAT(call.run(rt_.get()), HasSubstr("the device is lost"));
    fake_->calls.clear();
  }
  close();
  EXPECT_THAT(fake_->calls, IsEmpty());
  EXPECT_EQ(fake_->pinned, 1);
  EXPECT_EQ(fake_->streams, 2);
  EXPECT_THAT(fake_->wrong, IsEmpty());
}

}  // namespace
}  // namespace hone
