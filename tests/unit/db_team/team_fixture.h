// Stores of a team's tophub for tests: each test of TeamStoreTest runs against SQLite and PostgreSQL.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "db/team/team_store.h"
#include "tests/fakes/postgres_server.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/unit/db/db_fixture.h"

namespace hone::db {

inline constexpr char kTeamDense[] = "dense(m=128,n=768,k=768,dtype=f32,epilogue=none)";
inline constexpr char kZen[] = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2";
inline constexpr char kSkylake[] = "llvm -mtriple=x86_64-linux -mcpu=skylake-avx512 -threads=2";
inline constexpr char kGpu[] = "cuda -arch=sm_90 -sms=132";
inline constexpr int64_t kNow = 1'800'000'000'000;  // ms
inline constexpr int64_t kHour = 3'600'000;

inline const TeamPeer kAnn{"tuner ann"}, kBob{"tuner bob"}, kAdmin{"admin eve", /*is_admin=*/true};
inline const TeamPeer kSecret{"tuner sue", /*is_admin=*/false, /*hides_rows=*/true};

/// A quiet, provisional trial that went well.
inline TrialRow team_trial(const std::string& session, int64_t seq, double seconds,
                           const std::string& config = "tile=1") {
  TrialRow t;
  t.session = session, t.seq = seq;
  t.workload = kTeamDense, t.target = kZen, t.space = "feed1234";
  t.template_name = "dense_cpu", t.template_revision = 1;
  t.config = config, t.in_layout = "MK", t.out_layout = "MN";
  t.module_hash = "00112233445566778899aabbccddeeff";
  t.status = "ok";
  t.times = {seconds, 1.5 * seconds, seconds}, t.seconds = seconds;
  t.phases = {0.001, 0.002, 0.012, 0.001, 0.02, 0};
  t.device = "box/cpu", t.device_model = "znver5", t.profile = "1+3x2ms";
  t.hone_version = "0.6.0", t.codegen_version = "1";
  t.sentinel_before = 1e-4, t.sentinel_after = 1.01e-4;
  t.created_at = kNow - kHour + seq;
  return t;
}
inline TrialRow confirmed(TrialRow t) { return t.confirmed = true, t; }
inline TrialRow failed(TrialRow t) {
  t.status = "build_failed", t.message = "no such instruction";
  t.times.clear(), t.seconds.reset();
  return t;
}
inline TrialRow of_workload(TrialRow t, const std::string& workload, const std::string& target = kZen) {
  t.workload = workload, t.target = target;
  return t;
}

inline SessionRow team_session(const std::string& uuid) {
  return {uuid, kTeamDense, kZen, "feed1234", "evolve", 7, kNow - 2 * kHour, std::nullopt, "running"};
}
inline ChoiceRow team_choice(const std::string& config, const std::string& instead_of) {
  return {kTeamDense, kZen, "feed1234", config, instead_of, 1e-3, 1.5e-3, kNow - kHour};
}
inline PriorRow team_prior(const std::string& model = std::string("\0\xff\x10model", 8)) {
  PriorRow p;
  p.target_kind = "llvm", p.schema = "00112233445566778899aabbccddeeff", p.hone_version = "0.6.0";
  p.created_at = kNow - kHour;
  p.groups = 3, p.trials = 90, p.held_out = 3;
  p.pairwise = 0.875, p.peak1 = 0.75;
  p.model = model;
  return p;
}

/// The program's one PostgreSQL, started when a test first needs it.
inline PostgresServer& postgres_server() {
  static PostgresServer server;
  return server;
}

enum class Backend { kSqlite, kPostgres };

inline std::string name_of(const testing::TestParamInfo<Backend>& info) {
  return info.param == Backend::kSqlite ? "Sqlite" : "Postgres";
}

class TeamStoreTest : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (GetParam() == Backend::kPostgres)
      if (const std::string why = PostgresServer::why_not(); !why.empty()) GTEST_SKIP() << why;
    url_ = GetParam() == Backend::kSqlite ? folder_.path() + "/team.db" : postgres_server().new_database();
    store_ = open();
  }
  /// One more store over the same database: another process's, as it were.
  std::unique_ptr<TeamStore> open() const {
    auto store = GetParam() == Backend::kSqlite ? open_sqlite_team(url_) : open_postgres_team(url_);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? std::move(store).value() : nullptr;
  }

  ExchangeCount add(const RecordSet& records, const TeamPeer& peer, int64_t now = kNow) {
    const auto count = store_->add(records, peer, now);
    EXPECT_TRUE(count.ok()) << count.status();
    return count.value_or(ExchangeCount{});
  }
  TeamAnswer ask(const TeamPeer& peer, std::vector<TeamKey> keys = {{kTeamDense, kZen}}, bool nearest = false) {
    const auto answer = store_->ask({std::move(keys), nearest}, peer, kNow);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(TeamAnswer{});
  }
  std::vector<TeamMiss> misses(const std::string& kind = "", size_t limit = 100) {
    const auto misses = store_->misses(kind, limit);
    EXPECT_TRUE(misses.ok()) << misses.status();
    return misses.value_or(std::vector<TeamMiss>{});
  }
  std::vector<TeamCoverage> coverage(const TeamPeer& peer, const std::string& contains = "") {
    const auto lines = store_->coverage(peer, contains, std::nullopt, 1000);
    EXPECT_TRUE(lines.ok()) << lines.status();
    return lines.value_or(std::vector<TeamCoverage>{});
  }
  /// All that visit_all() gives, together, and the owners in its order.
  RecordSet visited(const TeamPeer& peer, std::vector<std::string>* owners = nullptr) {
    RecordSet all;
    const auto take = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    const Status status = store_->visit_all(peer, [&](const RecordSet& part, const std::string& owner) {
      take(all.sessions, part.sessions), take(all.trials, part.trials), take(all.choices, part.choices);
      take(all.definitions, part.definitions), take(all.priors, part.priors);
      if (owners) owners->push_back(owner);
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    return all;
  }

  TemporaryFolder folder_;
  std::string url_;
  std::unique_ptr<TeamStore> store_;
};

#define HONE_BOTH_STORES(SUITE) \
  INSTANTIATE_TEST_SUITE_P(Store, SUITE, testing::Values(Backend::kSqlite, Backend::kPostgres), name_of)

inline std::vector<std::string> configs(const TeamAnswer& answer) {
  std::vector<std::string> out;
  for (const TeamBest& b : answer.bests) out.push_back(b.row.config);
  return out;
}
inline std::vector<std::string> owners(const TeamAnswer& answer) {
  std::vector<std::string> out;
  for (const TeamBest& b : answer.bests) out.push_back(b.owner);
  return out;
}

}  // namespace hone::db
