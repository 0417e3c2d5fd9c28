#include "rpc/agent/sandbox/memory_share.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rpc/agent/run/candidate_memory.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::agent {
namespace {

constexpr uint64_t kMemoryShareMiB = uint64_t{1} << 20, kGiB = uint64_t{1} << 30;

// Stands for /proc and /sys.
class MemoryTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  uint64_t usable() const { return usable_memory(root_.path()); }
  static uint64_t machine() {
    return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }

  const TemporaryFolder root_;
};

TEST_F(MemoryTest, IsTheMachinesWhereNothingLimitsIt) {
  EXPECT_EQ(usable(), machine()) << "no control groups";
  write("/proc/self/cgroup", "0::/user.slice/a.service");
  write("/sys/fs/cgroup/user.slice/a.service/memory.max", "max");
  EXPECT_EQ(usable(), machine());
}

// A pod: the group is the root of what the container sees.
TEST_F(MemoryTest, IsTheContainers) {
  write("/proc/self/cgroup", "0::/");
  write("/sys/fs/cgroup/memory.max", std::to_string(512 * kMemoryShareMiB));
  EXPECT_EQ(usable(), 512 * kMemoryShareMiB);
}

TEST_F(MemoryTest, IsTheLeastOfAllGroupsAbove) {
  write("/proc/self/cgroup", "0::/kubepods.slice/pod1/container");
  write("/sys/fs/cgroup/kubepods.slice/pod1/container/memory.max", "max");
  write("/sys/fs/cgroup/kubepods.slice/pod1/memory.max", std::to_string(300 * kMemoryShareMiB));
  write("/sys/fs/cgroup/kubepods.slice/memory.max", std::to_string(400 * kMemoryShareMiB));
  EXPECT_EQ(usable(), 300 * kMemoryShareMiB);
}

TEST_F(MemoryTest, IsReadFromVersionOneToo) {
  write("/proc/self/cgroup", "12:cpuset:/docker/x\n4:blkio,memory:/docker/x\n0::/docker/x");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  write("/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", std::to_string(200 * kMemoryShareMiB));
  EXPECT_EQ(usable(), 200 * kMemoryShareMiB);
  // In a container without a namespace of groups the path is the host's, and the mounted files are the container's.
  write("/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "9223372036854771712");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(100 * kMemoryShareMiB));
  EXPECT_EQ(usable(), 100 * kMemoryShareMiB);
  write("/proc/self/cgroup", "0::/docker/x");
  write("/sys/fs/cgroup/unified/docker/x/memory.max", std::to_string(50 * kMemoryShareMiB));
  EXPECT_EQ(usable(), 50 * kMemoryShareMiB) << "both versions side by side";
}

TEST(MemoryShares, StayTogetherBelowWhatThereIs) {
  for (const uint64_t usable : {kGiB, 4 * kGiB, 24 * kGiB, 512 * kGiB})
    for (const int devices : {1, 2, 9})
      for (const int builders : {1, 4, 16}) {
        const MemoryShares s = share_memory(usable, devices, builders);
        EXPECT_GE(s.builders, 1);
        EXPECT_LE(s.builders, builders);
        EXPECT_GE(s.builder_processes, s.builders);
        EXPECT_LE(static_cast<uint64_t>(devices) *
                      (s.builder_bytes * static_cast<uint64_t>(s.builder_processes) + s.runner_bytes),
                  usable / 4 * 3)
            << usable << " " << devices << " " << builders;
        EXPECT_LE(s.builder_bytes, 6 * kGiB);
      }
}

TEST(MemoryShares, OfAPodWithFourCores) {
  const MemoryShares s = share_memory(4 * kGiB, 1, 4);
  EXPECT_EQ(s.builders, 4);
  EXPECT_EQ(s.builder_processes, 4);
  EXPECT_EQ(s.builder_bytes, 384 * kMemoryShareMiB);
  EXPECT_EQ(s.runner_bytes, 1536 * kMemoryShareMiB);
  EXPECT_EQ(share_memory(24 * kGiB, 1, 4).builder_processes, 16) << "four for each of four sessions";
  EXPECT_EQ(share_memory(kGiB, 1, 4).builders, 1) << "one that has enough before four that have not";
}

BuiltModule adder(int64_t elements, const Layout& layout) {
  BuiltModule m;
  for (const char* name : {"A", "B"}) m.info.params.push_back({name, ParamRole::kInput, f32, {elements}, layout});
  m.info.params.push_back({"C", ParamRole::kOutput, f32, {elements}, layout});
  return m;
}

TEST(CandidateMemory, SharedInputsCountOnce) {
  constexpr int64_t kElements = 1 << 20;  // 4 MiB
  const BuiltModule m = adder(kElements, Layout::identity({kElements}));
  const auto rooms = divide_memory({m, m}, 0, true);
  EXPECT_EQ(rooms[0].tensor_bytes, 6 * 4.0 * kMemoryShareMiB) << "two inputs, an output and three copies of it";
  EXPECT_EQ(rooms[1].tensor_bytes, 4 * 4.0 * kMemoryShareMiB);
  EXPECT_EQ(divide_memory({m}, 0, false)[0].tensor_bytes, 2 * 4.0 * kMemoryShareMiB) << "the output is on a device";
}

TEST(CandidateMemory, CopiesOfConstantsCount) {
  BuiltModule m = adder(1024, Layout::identity({1024}));
  m.info.params[1].role = ParamRole::kConstant;
  const double hot = divide_memory({m}, 0, true)[0].tensor_bytes;
  EXPECT_EQ(divide_memory({m}, 0, true, 16 * kMemoryShareMiB)[0].tensor_bytes, hot + 16 * kMemoryShareMiB - 4096);
  EXPECT_EQ(divide_memory({m}, 0, false, 16 * kMemoryShareMiB)[0].tensor_bytes,
            divide_memory({m}, 0, false)[0].tensor_bytes);
}

TEST(CandidateMemory, CandidatesOfOneJobShareTheRoom) {
  constexpr int64_t kElements = 1 << 20;
  const BuiltModule m = adder(kElements, Layout::identity({kElements}));
  const std::vector<BuiltModule> many(16, m);
  const uint64_t room = kGiB;
  double taken = 0;
  for (const CandidateRoom& r : divide_memory(many, room, true)) {
    EXPECT_TRUE(r.fits);
    EXPECT_LT(r.headroom, kMostHeadroom);
    taken += r.tensor_bytes + static_cast<double>(r.headroom);
  }
  EXPECT_LE(taken, static_cast<double>(room));
  EXPECT_EQ(divide_memory({m}, room, true)[0].headroom, kMostHeadroom);
  const auto tight = divide_memory(many, 100 * kMemoryShareMiB, true);
  EXPECT_TRUE(tight[0].fits);
  EXPECT_FALSE(tight[15].fits);
}

}  // namespace
}  // namespace hone::agent
