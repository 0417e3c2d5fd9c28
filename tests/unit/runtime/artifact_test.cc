#include "compiler/runtime/artifact.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "compiler/runtime/buffer.h"

namespace hone {
namespace {

#if defined(__x86_64__)
const char kLibm[] = "/lib/x86_64-linux-gnu/libm.so.6";  // some library without our entries
#else
const char kLibm[] = "/lib/aarch64-linux-gnu/libm.so.6";
#endif

TEST(Artifact, SaysWhatIsMissing) {
  const auto none = Artifact::load("/nonexistent/kernel.so");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(message_of(none.status()).find("/nonexistent/kernel.so"), std::string::npos);
  const std::string text = testing::TempDir() + "/hone-no-library.so";
  std::ofstream(text) << "not a library";
  EXPECT_EQ(Artifact::load(text).status().code(), absl::StatusCode::kNotFound);
  std::remove(text.c_str());
  const auto no_entry = Artifact::load(kLibm, "kernel");
  EXPECT_NE(message_of(no_entry.status()).find("no entry 'kernel'"), std::string::npos) << no_entry.status();
}

TEST(StatusOf, NamesEveryCode) {
  EXPECT_TRUE(status_of(HONE_OK).ok());
  EXPECT_EQ(status_of(HONE_FAULT).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(status_of(HONE_BAD_ARGUMENTS).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status_of(99).code(), absl::StatusCode::kInternal);
}

TEST(HostTensor, IsAlignedAndKeepsItsViewWhenMoved) {
  HostTensor a({kDLFloat, 32, 1}, {3, 5});
  EXPECT_EQ(a.size(), 15);
  EXPECT_EQ(a.bytes(), 60);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
  a.as<float>()[14] = 2;
  const HostTensor b = std::move(a);
  const DLTensor* view = b.view();
  EXPECT_EQ(view->ndim, 2);
  EXPECT_EQ(view->shape[1], 5);
  EXPECT_EQ(static_cast<float*>(view->data)[14], 2);
  EXPECT_EQ(HostTensor({kDLInt, 8, 1}, {0}).bytes(), 0);
}

}  // namespace
}  // namespace hone
