// Twenty kills of a team's tophub under load.
#include <gtest/gtest.h>

#include "tests/e2e/tophub/served.h"
#include "tests/fakes/postgres_server.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::e2e {
namespace {

TEST(ServeSlow, TwentyKillsLoseNothing) {
  const TemporaryFolder folder;
  expect_kills_lose_nothing({"--store", folder.path() + "/team.db"}, 20, 8);
}

TEST(ServeSlow, TwentyKillsLoseNothingWithPostgres) {
  if (const std::string why = PostgresServer::why_not(); !why.empty()) GTEST_SKIP() << why;
  PostgresServer postgres(/*durable=*/true);
  expect_kills_lose_nothing({"--postgres", postgres.new_database()}, 20, 8);
}

}  // namespace
}  // namespace hone::e2e
