// The pinned memory that calls go through, over a driver whose device is memory of the host.
#include "compiler/runtime/launcher/staging.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace hone {
namespace {

class Staging : public testing::Test {
 protected:
  Staging() {
    HoneDriver& d = shared_.driver;
    d.self = this;
    d.allocate_pinned = [](void* self, int64_t bytes, void** memory, HoneWords*) -> int32_t {
      auto& t = *static_cast<Staging*>(self);
      t.asked_.push_back(bytes);
      if (t.is_full_) return HONE_GPU_FAILED;
      ++t.alive_;
      *memory = ::operator new(static_cast<size_t>(bytes));
      return HONE_OK;
    };
    d.free_pinned = [](void* self, void* memory) {
      --static_cast<Staging*>(self)->alive_;
      ::operator delete(memory);
    };
    d.write = [](void* self, HoneMemory to, int64_t offset, const void* from, int64_t bytes, void*,
                 HoneWords*) -> int32_t {
      auto& t = *static_cast<Staging*>(self);
      t.copies_.push_back({from, bytes});
      std::memcpy(static_cast<char*>(to) + offset, from, static_cast<size_t>(bytes));
      return HONE_OK;
    };
    d.fetch = d.read = [](void* self, HoneMemory from, int64_t offset, void* to, int64_t bytes, void*,
                          HoneWords*) -> int32_t {
      auto& t = *static_cast<Staging*>(self);
      t.copies_.push_back({to, bytes});
      std::memcpy(to, static_cast<const char*>(from) + offset, static_cast<size_t>(bytes));
      return HONE_OK;
    };
  }
  ~Staging() override {
    hone_internal_staging_free(&shared_, &staging_);
    EXPECT_EQ(alive_, 0);
  }

  void begin(int64_t bytes) {
    asked_.clear(), copies_.clear();
    hone_internal_staging_begin(&shared_, &staging_, bytes);
  }

  struct Copy {
    const void* host;
    int64_t bytes;
  };
  HoneShared shared_{};
  HoneStaging staging_{};
  std::vector<int64_t> asked_;
  std::vector<Copy> copies_;
  int alive_ = 0;
  bool is_full_ = false;
};

TEST_F(Staging, GrowsWithCallsUpToItsBound) {
  begin(1000);
  EXPECT_EQ(asked_, (std::vector<int64_t>{1000}));
  begin(900);
  EXPECT_EQ(asked_, (std::vector<int64_t>{})) << "it is kept";
  begin(1001);
  EXPECT_EQ(asked_, (std::vector<int64_t>{1500})) << "by half at least";
  begin(int64_t{1} << 40);
  EXPECT_EQ(asked_, (std::vector<int64_t>{kHoneMostStaged}));
  begin(int64_t{1} << 41);
  EXPECT_EQ(asked_, (std::vector<int64_t>{}));
  EXPECT_EQ(alive_, 1);
}

TEST_F(Staging, WhatIsThereServesOnWhereNoMoreIsGiven) {
  begin(1024);
  is_full_ = true;
  begin(4096);
  begin(8192);
  EXPECT_EQ(asked_, (std::vector<int64_t>{})) << "refused once is refused";
  EXPECT_NE(hone_internal_staging_place(&staging_, 1024), nullptr);
  EXPECT_EQ(hone_internal_staging_place(&staging_, 1), nullptr);
}

TEST_F(Staging, PlacesLieApartAndEachCallBeginsAnew) {
  begin(2 * hone_internal_staged_bytes(1));
  char* const first = hone_internal_staging_place(&staging_, 1);
  char* const second = hone_internal_staging_place(&staging_, 1);
  EXPECT_EQ(second - first, hone_internal_staged_bytes(1));
  EXPECT_EQ(hone_internal_staging_place(&staging_, 1), nullptr);
  begin(1);
  EXPECT_EQ(hone_internal_staging_place(&staging_, 1), first);
}

TEST_F(Staging, LargeTensorsGoPartByPart) {
  const int64_t part = 1 << 20, bytes = 2 * part + 12345;
  std::string from(static_cast<size_t>(bytes), '\0'), device(from.size() + 3, '\0');
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + i / 4096);
  begin(hone_internal_staged_bytes(bytes));
  ASSERT_EQ(hone_internal_send(&shared_, &staging_, device.data(), 3, from.data(), bytes, nullptr), HONE_OK);
  EXPECT_EQ(device.substr(3), from);
  ASSERT_EQ(copies_.size(), 3u);
  EXPECT_EQ(copies_[2].bytes, 12345);
  EXPECT_EQ(copies_[0].host, staging_.memory);
  // No room for another one: from where it lies.
  copies_.clear();
  ASSERT_EQ(hone_internal_send(&shared_, &staging_, device.data(), 0, from.data(), bytes, nullptr), HONE_OK);
  ASSERT_EQ(copies_.size(), 1u);
  EXPECT_EQ(copies_[0].host, from.data());
}

TEST_F(Staging, OutputsAreTheCallersWhenItFinishes) {
  std::string device = "first second third";
  std::string one(5, '.'), other(6, '.'), third(5, '.');
  begin(hone_internal_staged_bytes(6));
  char* const place = hone_internal_staging_place(&staging_, 6);
  ASSERT_EQ(hone_internal_fetch(&shared_, &staging_, device.data(), 0, one.data(), 5, nullptr, nullptr), HONE_OK);
  ASSERT_EQ(hone_internal_fetch(&shared_, &staging_, device.data(), 6, other.data(), 6, place, nullptr), HONE_OK);
  ASSERT_EQ(hone_internal_fetch(&shared_, &staging_, device.data(), 13, third.data(), 5, nullptr, nullptr), HONE_OK);
  EXPECT_EQ(copies_.size(), 1u) << "only what goes through pinned memory is sent for";
  EXPECT_EQ(one + other + third, "................");
  ASSERT_EQ(hone_internal_staging_finish(&shared_, &staging_, nullptr), HONE_OK);
  EXPECT_EQ(one + other + third, "firstsecondthird");
  // Once.
  one = "+++++";
  ASSERT_EQ(hone_internal_staging_finish(&shared_, &staging_, nullptr), HONE_OK);
  EXPECT_EQ(one, "+++++");
}

}  // namespace
}  // namespace hone
