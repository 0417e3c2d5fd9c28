#include "rpc/agent/guarded_buffer.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hone::agent
