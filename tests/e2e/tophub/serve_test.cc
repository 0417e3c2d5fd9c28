// `tophub serve` as a team runs it: over TLS with the files of `tracker init-tls`, killed, restarted, misused.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "rpc/hub/hub_client.h"
#include "tests/e2e/tophub/served.h"
#include "tests/fakes/postgres_server.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::e2e {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr char kDense[] = "dense(m=128,n=768,k=768,dtype=f32,epilogue=none)";
constexpr char kTarget[] = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2";

class Serve : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write_secret(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    chmod(path(name).c_str(), 0600);
  }
  const TemporaryFolder folder_;
};

TEST_F(Serve, OverTlsWithTheTrackersFiles) {
  const Ran made =
      run_program("tracker", {"init-tls", path("fleet"), "--host", "127.0.0.1", "--tuner", "ann", "--tuner", "bob"});
  ASSERT_EQ(made.code, 0) << made.text;
  const std::vector<std::string> arguments = {"--listen",     "127.0.0.1:0",
                                              "--store",      path("team.db"),
                                              "--tls-cert",   path("fleet/tracker.pem"),
                                              "--tls-key",    path("fleet/tracker.key"),
                                              "--token-file", path("fleet/tokens")};
  Served served(arguments);
  EXPECT_THAT(served.lines(), HasSubstr("tophub: serving " + path("team.db") + " on 127.0.0.1:"));
  EXPECT_THAT(served.lines(), HasSubstr("--tophub https://" + served.listens()));
  const std::string url = "https://" + served.listens();
  const auto ann = hub::open_hub(url, {.fleet = path("fleet/ann.hone")}, false);
  const auto bob = hub::open_hub(url, {.fleet = path("fleet/bob.hone")}, false);
  ASSERT_TRUE(ann.ok() && bob.ok()) << ann.status() << bob.status();
  ASSERT_TRUE((*ann)->push(session_of("s-1", kDense, 0.5)).ok());
  const auto answer = (*bob)->ask({{{kDense, kTarget}}, true});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_THAT(answer->bests, SizeIs(1));
  EXPECT_EQ(answer->bests[0].owner, "tuner ann");
  // Without TLS, and without a token.
  const auto plain = hub::open_hub("http://" + served.listens(), {}, false).value();
  EXPECT_TRUE(absl::IsUnavailable(plain->ask({}).status()));
  const auto nobody = hub::open_hub(url, {.ca = path("fleet/ca.pem")}, false).value();
  EXPECT_TRUE(absl::IsUnauthenticated(nobody->ask({}).status()));
  // Ended in order, it ends at once and well, and knows it all the next time.
  EXPECT_EQ(served.stop(SIGTERM), 0);
  Served again(arguments);
  const auto later = hub::open_hub("https://" + again.listens(), {.fleet = path("fleet/bob.hone")}, false).value();
  EXPECT_THAT(later->ask({{{kDense, kTarget}}, true})->bests, SizeIs(1));
  EXPECT_EQ(again.stop(SIGINT), 0);
}

TEST_F(Serve, BadUsageIsOneLine) {
  write_secret("empty", "\n");
  std::ofstream(path("open-to-all")) << "postgresql://x";
  chmod(path("open-to-all").c_str(), 0644);
  for (const auto& [arguments, code, why] :
       std::initializer_list<std::tuple<std::vector<std::string>, int, std::string>>{
           {{"--listen", "nowhere"}, 2, "--listen: "},
           {{"--listen", "0.0.0.0:0", "--store", path("x.db")}, 2, "--listen"},
           {{"--store", path("x.db"), "--postgres", "postgresql://localhost/x"}, 2, "--store and --postgres"},
           {{"--postgres-file", path("none")}, 2, "--postgres-file"},
           {{"--postgres-file", path("empty")}, 2, "first line is no URL"},
           {{"--postgres-file", path("open-to-all")}, 2, "--postgres-file"},
           {{"--postgres", "postgresql://u:secret@127.0.0.1:1/x"}, 5, "127.0.0.1"},
           {{"--token-file", path("none"), "--store", path("x.db")}, 2, "--token-file"},
           {{"--tls-cert", path("none"), "--store", path("x.db")}, 2, "--tls-key"},
           {{"--store", folder_.path()}, 5, folder_.path()},
           {{"--db", "x.db"}, 2, "--store"}}) {
    std::vector<std::string> all = {"serve", "--exit-with-parent"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Ran ran = run_program("tophub", all);
    EXPECT_EQ(ran.code, code) << ran.text;
    EXPECT_THAT(ran.text, HasSubstr(why));
    EXPECT_THAT(ran.text, Not(HasSubstr("u:secret@")));
  }
}

TEST_F(Serve, TheEnvironmentNamesPostgres) {
  const Ran ran = run_program("tophub", {"serve", "--listen", "127.0.0.1:0"},
                              {"HONE_POSTGRES=postgresql://u:secret@127.0.0.1:1/x"});
  EXPECT_EQ(ran.code, 5) << ran.text;
  EXPECT_THAT(ran.text, Not(HasSubstr("secret")));
}

TEST_F(Serve, KillsLoseNothingThatWasAcknowledged) { expect_kills_lose_nothing({"--store", path("team.db")}, 3, 4); }

TEST_F(Serve, KillsLoseNothingWithPostgres) {
  if (const std::string why = PostgresServer::why_not(); !why.empty()) GTEST_SKIP() << why;
  PostgresServer postgres(/*durable=*/true);
  expect_kills_lose_nothing({"--postgres", postgres.new_database()}, 3, 4);
}

}  // namespace
}  // namespace hone::e2e
