// The table of kinds of GPUs: the facts in a row that its readers need.
#include "compiler/target/gpu_kinds.h"

#include <gtest/gtest.h>

#include <set>

#include "base/check.h"
#include "compiler/target/target.h"

namespace hone {
namespace {

TEST(GpuKinds, HaveTargetsOfTheirOwn) {
  for (const GpuKind& kind : gpu_kinds()) {
    SCOPED_TRACE(kind.name);
    EXPECT_EQ(find_gpu_kind(kind.name), &kind);
    EXPECT_EQ(&gpu_kind_of(kind.device_type), &kind);
    const Target open = Target::parse(kind.name);
    EXPECT_EQ(open.kind, kind.name);
    EXPECT_TRUE(open.is_gpu());
    EXPECT_FALSE(open.is_complete());
    EXPECT_EQ(to_string(open), kind.name);
    EXPECT_EQ(kind.example.substr(0, kind.name.size() + 1), std::string(kind.name) + " ");
    EXPECT_EQ(kind.texts.substr(0, kind.name.size()), kind.name) << "the text of its own language comes first";
  }
  EXPECT_EQ(find_gpu_kind("llvm"), nullptr);
  EXPECT_THROW(gpu_kind("llvm"), InternalError);
  EXPECT_THROW(gpu_kind_of(1), InternalError);
}

TEST(GpuKinds, DifferInWhatTellsThemApart) {
  std::set<std::string_view> names;
  std::set<int32_t> types;
  for (const GpuKind& kind : gpu_kinds()) {
    names.insert(kind.name);
    types.insert(kind.device_type);
    for (const int32_t type : kind.host_device_types) EXPECT_NE(type, kind.device_type);
  }
  EXPECT_EQ(names.size(), gpu_kinds().size());
  EXPECT_EQ(types.size(), gpu_kinds().size());
}

TEST(GpuKinds, AreListedForPeople) {
  EXPECT_EQ(of_gpu_kinds(&GpuKind::name, " or "), "cuda or opencl");
  EXPECT_EQ(of_gpu_kinds(&GpuKind::example, " and "), "cuda -arch=sm_XX and opencl -sms=N");
  EXPECT_EQ(target_kinds(), "llvm, cuda, opencl");
  EXPECT_EQ(target_kinds(" and "), "llvm, cuda and opencl");
}

}  // namespace
}  // namespace hone
