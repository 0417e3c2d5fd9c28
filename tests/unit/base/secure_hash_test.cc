#include "base/secure_hash.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/hash_collision.h"

namespace hone {
namespace {

// FIPS 180-4's examples; the second takes two blocks of the hash.
TEST(SecureHash, IsTheBeginningOfSha256) {
  EXPECT_EQ(secure_hash("abc").hex(), "ba7816bf8f01cfea414140de5dae2223");
  EXPECT_EQ(secure_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039");
  EXPECT_EQ(secure_hash("").hex(), "e3b0c44298fc1c149afbf4c8996fb924");
}

TEST(SecureHash, TellsApartWhatTheFastHashDoesNot) {
  const std::string mine = colliding(std::string(2000, 'm'), 1), theirs = colliding(std::string(2000, 'm'), 77);
  ASSERT_NE(mine, theirs);
  ASSERT_EQ(hash_bytes(mine), hash_bytes(theirs)) << "made by hand, without a search";
  EXPECT_NE(secure_hash(mine), secure_hash(theirs));
}

}  // namespace
}  // namespace hone
