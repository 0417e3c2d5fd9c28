#include "rpc/agent/sandbox/guarded_buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace hone::agent {
namespace {

TEST(GuardedBuffer, IsAlignedAndWritable) {
  for (const int64_t bytes : {0, 1, 64, 100, 4096, 100000}) {
    StatusOr<GuardedBuffer> b = GuardedBuffer::make(bytes);
    ASSERT_TRUE(b.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b->data()) % 64, 0u);
    std::memset(b->data(), 1, bytes);
    EXPECT_TRUE(b->intact());
  }
}

TEST(GuardedBuffer, SeesWritesBesideTheData) {
  StatusOr<GuardedBuffer> b = GuardedBuffer::make(100);
  ASSERT_TRUE(b.ok());
  static_cast<char*>(b->data())[100] = 0;
  EXPECT_FALSE(b->intact());
  b = GuardedBuffer::make(100);
  static_cast<char*>(b->data())[-1] = 0;
  EXPECT_FALSE(b->intact());
}

TEST(GuardedBufferDeathTest, AnOverrunIsASegmentationFault) {
  StatusOr<GuardedBuffer> b = GuardedBuffer::make(128);
  ASSERT_TRUE(b.ok());
  volatile char* p = static_cast<char*>(b->data());
  EXPECT_EXIT(p[128] = 1, ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(p[-8192] = 1, ::testing::KilledBySignal(SIGSEGV), "");
}

TEST(GuardedBuffer, RefusesWhatNoMachineHas) { EXPECT_FALSE(GuardedBuffer::make(int64_t{1} << 60).ok()); }

TEST(SharedMemoryDeathTest, IsReadOnlyWhenToldSo) {
  StatusOr<SharedMemory> m = SharedMemory::make(10);
  ASSERT_TRUE(m.ok());
  volatile char* p = static_cast<char*>(m->data());
  p[3] = 7;
  m->make_read_only();
  EXPECT_EQ(p[3], 7);
  EXPECT_EXIT(p[3] = 1, ::testing::KilledBySignal(SIGSEGV), "");
}

TEST(SharedMemory, CannotBeMadeWritableAgain) {
  StatusOr<SharedMemory> m = SharedMemory::make(10);
  ASSERT_TRUE(m.ok());
  *static_cast<char*>(m->data()) = 7;
  if (!m->make_read_only()) GTEST_SKIP() << "this kernel seals no memory: the agent says so at its start";
  EXPECT_NE(mprotect(m->data(), 1, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(*static_cast<char*>(m->data()), 7);
}

TEST(SharedMemory, IsSharedWithWhatIsForked) {
  StatusOr<SharedMemory> m = SharedMemory::make(10);
  ASSERT_TRUE(m.ok());
  const pid_t child = fork();
  if (child == 0) {
    *static_cast<char*>(m->data()) = 7;
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  m->make_read_only();
  EXPECT_EQ(*static_cast<char*>(m->data()), 7);
}

}  // namespace
}  // namespace hone::agent
