// Calls as one recorded graph of CUDA's: recorded once, whatever memory a call has, and given that memory.
#include "tests/unit/gpu_calls/gpu_calls_fixture.h"

namespace hone {
namespace {

class Recordings : public GpuCalls {
 protected:
  Recordings() {
    // in0 -> out0, and in0 -> out1. Only the middle layer has no memory of the call's.
    adds_.add(tensor(0), tensor(0), arena(0)).add(arena(0), arena(0), arena(1));
    adds_.add(arena(1), arena(0), tensor(1)).copy(tensor(0), tensor(2));
  }

  std::vector<std::unique_ptr<GpuCall>> calls(int n) {
    std::vector<std::unique_ptr<GpuCall>> made;
    for (int i = 0; i < n; ++i) made.push_back(std::make_unique<GpuCall>(adds_, gpu_.get(), &lies_on_device));
    return made;
  }

  AddsModel adds_{256, 1, 2};
};

TEST_F(Recordings, MemoryThatChangesInEachCallIsRecordedOnce) {
  auto all = calls(8);
  for (int i = 0; i < 8; ++i) {
    SCOPED_TRACE(i);
    fake_->calls.clear();
    run_well(*all[static_cast<size_t>(i)], i);
    // The first call loads; the second one records; from then on nodes get the memory of the call.
    EXPECT_EQ(count("cuLaunchKernel"), i == 0 ? 3 : 0);
    EXPECT_EQ(count("cuGraphAddKernelNode add 8x32 0"), i == 1 ? 3 : 0);
    EXPECT_EQ(count("cuGraphAddMemcpyNode 1024"), i == 1 ? 1 : 0);
    EXPECT_EQ(count("cuGraphInstantiate 4"), i == 1 ? 1 : 0);
    EXPECT_EQ(count("cuGraphLaunch"), i == 0 ? 0 : 1);
    EXPECT_EQ(count("cuGraphExecKernelNode"), i < 2 ? 0 : 2) << "the first and the last layer";
    EXPECT_EQ(count("cuGraphExecMemcpyNode"), i < 2 ? 0 : 1);
  }
  EXPECT_EQ(fake_->graphs, 2) << "one, and what it was made of";
  // Arguments that did not change are not set again.
  fake_->calls.clear();
  run_well(*all[7], 7);
  EXPECT_EQ(updates(), 0);
  (*all[7])[1] = (*all[6])[1];
  all[7]->set(7);
  fake_->calls.clear();
  ASSERT_EQ(all[7]->run(rt_.get()), "");
  EXPECT_EQ(updates(), 1) << "one output elsewhere is one layer";
  EXPECT_EQ(all[6]->outputs()[0], all[7]->wanted()[0]);
  all.clear();
  expect_nothing_left();
}

// A tensor on the CPU has memory of the model's on the device.
TEST_F(Recordings, EachSetOfTensorsOnTheDeviceHasOne) {
  std::vector<std::unique_ptr<GpuCall>> all;
  for (int i = 0; i < 16; ++i)
    all.push_back(std::make_unique<GpuCall>(adds_, gpu_.get(), [i](size_t t) { return (i >> t) & 1; }));
  const auto run_all = [&](size_t sets) {
    fake_->calls.clear();
    for (int turn = 0; turn < 2; ++turn)
      for (size_t i = 0; i < all.size(); ++i)
        if (i % 8 < sets) run_well(*all[i], static_cast<int>(i));
  };
  run_all(4);
  EXPECT_EQ(count("cuGraphInstantiate"), 4);
  EXPECT_EQ(fake_->graphs, 8);
  run_all(4);
  EXPECT_EQ(count("cuGraphInstantiate"), 0) << "all are kept";
  EXPECT_GT(updates(), 0);
  run_all(8);
  EXPECT_EQ(fake_->graphs, 0) << "of eight in turns none is used twice before it goes";
  for (size_t i = 0; i < 8; ++i)
    for (const size_t other : {i, i + 8}) run_well(*all[other], static_cast<int>(other));
  EXPECT_EQ(fake_->graphs, 8) << "no more than four are kept";
  all.clear();
  expect_nothing_left();
}

// Who refuses other memory once is not asked again: calls are recorded by their memory.
TEST_F(Recordings, WhereOtherMemoryIsRefusedCallsAreRecordedAnew) {
  for (const char* const function : {"cuGraphExecKernelNodeSetParams", "cuGraphExecMemcpyNodeSetParams"}) {
    SCOPED_TRACE(function);
    close(), open();
    fake_->failures = {{function, 801}};
    auto all = calls(6);
    const auto run = [&](int i, int launches, int recordings, int replays) {
      SCOPED_TRACE(i);
      fake_->calls.clear();
      run_well(*all[static_cast<size_t>(i)], i);
      EXPECT_EQ(count("cuLaunchKernel"), launches);
      EXPECT_EQ(count("cuGraphInstantiate 4"), recordings);
      EXPECT_EQ(count("cuGraphLaunch"), replays);
    };
    run(0, 3, 0, 0);
    run(0, 0, 1, 1);
    run(1, 0, 1, 1);  // refused, and recorded for this memory
    run(1, 0, 0, 1);
    run(0, 3, 0, 0);  // other memory
    EXPECT_EQ(updates(), 0);
    run(1, 0, 0, 1);  // the recording is kept
    run(0, 0, 1, 1);
    EXPECT_EQ(fake_->graphs, 4);
    for (int i = 0; i < 6; ++i)
      for (int turn = 0; turn < 3; ++turn) run_well(*all[static_cast<size_t>(i)], i + turn);
    EXPECT_EQ(fake_->graphs, 8) << "of four sets of memory";
  }
  fake_->failures.clear();
  expect_nothing_left();
}

// The driver takes no memory of the host where a copy had memory of the device.
TEST_F(Recordings, MemoryThatLiesOtherwiseIsRecordedAnew) {
  auto all = calls(2);
  for (int turn = 0; turn < 2; ++turn) run_well(*all[0], turn);
  void* pinned = nullptr;
  in_context([&] { ASSERT_EQ(symbol<int (*)(void**, size_t, unsigned)>("cuMemHostAlloc")(&pinned, 1024, 0), 0); });
  const DLTensor before = (*all[1])[0];
  all[1]->set(3);
  ASSERT_EQ(hone_gpu_read(gpu_.get(), before.data, 0, pinned, 1024), HONE_OK);
  (*all[1])[0].data = pinned;
  (*all[1])[0].device.device_type = kDLCUDAHost;
  fake_->calls.clear();
  ASSERT_EQ(all[1]->run(rt_.get()), "");
  EXPECT_EQ(all[1]->outputs(), all[1]->wanted());
  EXPECT_EQ(count("cuMemcpyHtoD"), 0) << "it is used where it is";
  EXPECT_EQ(count("cuGraphInstantiate"), 1);
  run_well(*all[0], 5);
  in_context([&] { EXPECT_EQ(symbol<int (*)(void*)>("cuMemFreeHost")(pinned), 0); });
  all.clear();
  expect_nothing_left();
}

// Nodes get the memory of the next call while the commands of the one before wait for their turn.
TEST_F(Recordings, CallsThatWereSentKeepTheirMemory) {
  auto all = calls(5);
  void* workspace = nullptr;
  ASSERT_EQ(hone_gpu_allocate(gpu_.get(), adds_.arena_bytes(), &workspace), HONE_OK);
  for (int i = 0; i < 5; ++i) all[static_cast<size_t>(i)]->set(i);
  fake_->order = FakeOrder::kWhenWaited;
  fake_->calls.clear();
  for (const auto& c : all) ASSERT_EQ(c->send(rt_.get(), workspace), "");
  EXPECT_EQ(count("cuGraphInstantiate"), 1);
  EXPECT_EQ(*static_cast<const float*>((*all[4])[1].data), -1) << "nobody has waited";
  ASSERT_EQ(hone_gpu_wait(rt_.get()), HONE_OK);
  for (const auto& c : all) EXPECT_EQ(c->outputs(), c->wanted());
  hone_gpu_free(gpu_.get(), workspace);
  all.clear();
  expect_nothing_left();
}

TEST_F(Recordings, StreamsInTurnsHaveOneEach) {
  auto all = calls(3);
  void* const streams[] = {new_stream(), new_stream()};
  {
    const LibraryRuntime on[] = {runtime(streams[0]), runtime(streams[1])};
    fake_->order = FakeOrder::kWhenWaited;
    fake_->calls.clear();
    for (int turn = 0; turn < 9; ++turn)
      for (const LibraryRuntime& rt : on) run_well(*all[static_cast<size_t>(turn % 3)], turn, rt.get());
    EXPECT_EQ(count("cuGraphInstantiate"), 2);
    EXPECT_EQ(count("cuGraphLaunch"), 2 * 8);
  }
  for (void* const s : streams) destroy_stream(s);
  all.clear();
  expect_nothing_left();
}

// A host function cuts the plan: what stands on either side is recorded by itself, and bound by itself.
TEST_F(Recordings, StepsBeforeAndBehindOneOnTheHostAreRecordedByThemselves) {
  AddsModel adds(256, 1, 1);
  adds.add(tensor(0), tensor(0), arena(0)).add(arena(0), arena(0), arena(1)).on_host(arena(1), arena(2));
  adds.add(arena(2), arena(1), arena(0)).add(arena(0), tensor(0), tensor(1));
  std::vector<std::unique_ptr<GpuCall>> all;
  for (int i = 0; i < 4; ++i) all.push_back(std::make_unique<GpuCall>(adds, gpu_.get(), &lies_on_device));
  for (int turn = 0; turn < 8; ++turn) {
    fake_->order = kFakeOrders[turn % 3];
    fake_->calls.clear();
    run_well(*all[static_cast<size_t>(turn % 4)], turn);
    EXPECT_EQ(count("cuGraphInstantiate 2"), turn == 1 ? 2 : 0);
    EXPECT_EQ(count("cuGraphLaunch"), turn == 0 ? 0 : 2);
    EXPECT_EQ(updates(), turn < 2 ? 0 : 2);
  }
  // A failure between the two leaves the second one with older memory, which the next call sees to.
  all[0]->set(1);
  fake_->failures = {{"cuMemcpyHtoDAsync", 2}};
  EXPECT_NE(all[0]->run(rt_.get()), "");
  fake_->failures.clear();
  run_well(*all[0], 20);
  run_well(*all[1], 21);
  all.clear();
  expect_nothing_left();
}

// Drivers before CUDA 10.2, and those that refuse: commands are sent one by one.
TEST_F(Recordings, WhatIsNotRecordedIsSent) {
  for (const char* const function :
       {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphAddMemcpyNode", "cuGraphInstantiate"}) {
    SCOPED_TRACE(function);
    close(), open();
    fake_->failures = {{function, 801}};
    auto all = calls(2);
    for (int turn = 0; turn < 6; ++turn) run_well(*all[static_cast<size_t>(turn % 2)], turn);
    EXPECT_EQ(count(function), 1) << "it was tried, and is not tried again";
    EXPECT_EQ(count("cuGraphLaunch"), 0);
    EXPECT_EQ(count("cuLaunchKernel"), 6 * 3);
    EXPECT_EQ(fake_->graphs, 0);
  }
  fake_->failures.clear();
  expect_nothing_left();
}

// A call that fails before it has recorded all leaves the rest to the next one.
TEST_F(Recordings, ASecondCallThatFailsIsNoLastChance) {
  auto all = calls(2);
  run_well(*all[0], 0);
  fake_->failures = {{"cuGraphLaunch", 1}};
  EXPECT_NE(all[0]->run(rt_.get()), "");
  fake_->failures.clear();
  fake_->calls.clear();
  run_well(*all[1], 1);
  EXPECT_EQ(count("cuGraphLaunch"), 1);
  all.clear();
  expect_nothing_left();
}

}  // namespace
}  // namespace hone
