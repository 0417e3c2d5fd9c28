#include "compiler/runtime/gpu/binary_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/hash_collision.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

TEST(BinaryCache, KeepsBytesAndLogBetweenRuns) {
  const TemporaryFolder folder;
  const std::string bytes(
      "\0\x7f"
      "ELF\n\0",
      7);
  const Hash128 key = BinaryCache::key({"device", "source"});
  BinaryCache(folder.path() + "/a/b").store(key, {bytes, "a log\n"});
  BinaryCache again(folder.path() + "/a/b");
  const auto found = again.find(key);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, bytes);
  EXPECT_EQ(found->log, "a log\n");
  EXPECT_FALSE(again.find(BinaryCache::key({"device", "another source"})));
  again.store(key, {"", ""});
  EXPECT_EQ(again.find(key)->bytes, "");
}

TEST(BinaryCache, PartsOfAKeyDoNotRunIntoEachOther) {
  EXPECT_NE(BinaryCache::key({"ab", "c"}), BinaryCache::key({"a", "bc"}));
  EXPECT_NE(BinaryCache::key({"ab"}), BinaryCache::key({"ab", ""}));
}

// Programs of all who use a device are in one cache.
TEST(BinaryCache, NoSourceTakesAnothersPlace) {
  const std::string prefix = "2000:";  // in a key before each part
  const std::string mine = colliding(std::string(2000, 'm'), 1, prefix.size()),
                    theirs = colliding(std::string(2000, 'm'), 2, prefix.size());
  ASSERT_EQ(hash_bytes(prefix + mine), hash_bytes(prefix + theirs));
  EXPECT_NE(BinaryCache::key({mine}), BinaryCache::key({theirs}));
}

TEST(BinaryCache, EveryDamagedByteIsNoticed) {
  const TemporaryFolder folder;
  BinaryCache cache(folder.path());
  const Hash128 key = BinaryCache::key({"k"});
  cache.store(key, {"binary", "log"});
  std::ifstream file(cache.path(key), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  const auto write = [&](const std::string& text) {
    std::ofstream(cache.path(key), std::ios::binary | std::ios::trunc) << text;
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    write(damaged);
    EXPECT_FALSE(cache.find(key)) << "byte " << i;
    write(whole.substr(0, i));
    EXPECT_FALSE(cache.find(key)) << "cut to " << i;
  }
  write(whole);
  EXPECT_TRUE(cache.find(key));
}

TEST(BinaryCache, TheOldestGoWhenThereIsTooMuch) {
  const TemporaryFolder folder;
  BinaryCache cache(folder.path(), 10000);
  const auto key = [](int i) { return BinaryCache::key({std::to_string(i)}); };
  const auto now = std::filesystem::file_time_type::clock::now();
  for (int i = 0; i < 40; ++i) {
    cache.store(key(i), {std::string(1000, 'x'), ""});
    // Ages that do not depend on how fine the file system's clock is.
    if (cache.find(key(i))) std::filesystem::last_write_time(cache.path(key(i)), now - std::chrono::seconds(1000 - i));
  }
  int64_t total = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    total += static_cast<int64_t>(entry.file_size());
  EXPECT_LE(total, 12500);
  EXPECT_GT(total, 5000);
  EXPECT_TRUE(cache.find(key(39)));
  EXPECT_FALSE(cache.find(key(0)));
}

TEST(BinaryCache, AFolderThatCannotBeWrittenCostsTheCacheOnly) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/file") << "in the way";
  BinaryCache cache(folder.path() + "/file/programs");
  EXPECT_TRUE(cache.enabled());
  cache.store(BinaryCache::key({"k"}), {"binary", ""});
  EXPECT_FALSE(cache.enabled());
  EXPECT_FALSE(cache.find(BinaryCache::key({"k"})));
  BinaryCache none("");
  none.store(BinaryCache::key({"k"}), {"binary", ""});
  EXPECT_FALSE(none.find(BinaryCache::key({"k"})));
}

}  // namespace
}  // namespace hone
