// Expectations on the CUDA driver without a GPU (fake_cuda.h) once all is closed.
#pragma once

#include <gmock/gmock.h>

#include "tests/fakes/fake_cuda.h"

namespace hone {

/// Nothing is alive, and nothing was asked that a driver may end a program for.
inline void expect_nothing_left_in(const FakeCuda& fake) {
  EXPECT_THAT(fake.wrong, testing::IsEmpty());
  EXPECT_EQ(fake.buffers, 0);
  EXPECT_EQ(fake.pinned, 0);
  EXPECT_EQ(fake.modules, 0);
  EXPECT_EQ(fake.graphs, 0);
  EXPECT_EQ(fake.streams, 0);
  EXPECT_EQ(fake.events, 0);
  EXPECT_EQ(fake.contexts, 0);
  EXPECT_EQ(fake.outside, 0) << "calls without a context";
}

}  // namespace hone
