// People who share a tophub: the programs against a service over TLS, with tokens.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/clock.h"
#include "db/chain/outbox.h"
#include "db/plausible.h"
#include "db/team/team_store.h"
#include "rpc/gate/certificates.h"
#include "rpc/http/http.h"
#include "rpc/hub/hub_pages.h"
#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kWorkload[] = "dense(m=8,n=64,k=48)";
const std::string kAnn = "ann-0123456789abcdef", kBob = "bob-0123456789abcdef", kWrong = "eve-0123456789abcdef";

class Sharing : public Workplace {
 protected:
  Sharing() {
    write("tokens", "tuner ann " + kAnn + "\ntuner bob " + kBob + "\n");
    const gate::KeyPair own = gate::make_certificate(ca_, {"tophub", "", {"127.0.0.1", "localhost"}, true}).value();
    write("cert", own.certificate), write("key", own.key), write("ca", ca_.certificate);
    write("ann", kAnn + "\n"), write("bob", kBob + "\n"), write("eve", kWrong + "\n");
    store_ = db::open_sqlite_team(path("team.db")).value();
    serve("127.0.0.1:0");
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    chmod(path(name).c_str(), 0600);
  }
  void serve(const std::string& at) {
    gate::Security security;
    security.tls.certificate = path("cert"), security.tls.key = path("key");
    security.authority = gate::Authority::make({path("tokens"), false}, clock_).value();
    security.rejections = std::make_shared<gate::Rejections>(clock_, [](const auto&) {});
    hub::HubOptions options{.now_ms = &db::unix_ms, .scratch = path("tmp"), .rejections = security.rejections};
    server_ = http::HttpServer::start(wire::Address::parse(at).value(), hub::hub_pages(*store_, options), clock_,
                                      security, {})
                  .value();
    address_ = server_->address().text();
  }
  // Words with the place and the credentials of the team, as `who` has them.
  Words with_team(Words words, const std::string& who) const {
    for (const std::string& word : {"--tophub=https://" + address_, "--tls-ca=" + path("ca"),
                                    "--token-file=" + path(who), "--db=" + path(who + ".db")})
      words.push_back(word);
    return words;
  }
  Output tune(const std::string& who) {
    return run(
        with_team({"tuner", "--workload", kWorkload, "--trials", "6", "--repeat", "2", "--min-repeat-ms", "0.2"}, who));
  }
  // As `who`, whose own tophub knows nothing.
  Output build(const std::string& who, const Words& more = {}) {
    { auto empty = db::Store::open(path(who + ".db")); }
    Words words = with_team({"tensorc", "--workload", kWorkload, "--check"}, who);
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  static std::string config_line(const Output& output) {
    std::istringstream lines(output.err);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("config: ")) return line;
    return output.err;
  }

  const SteadyClock clock_;
  const gate::KeyPair ca_ = gate::make_ca("a test").value();
  std::unique_ptr<db::TeamStore> store_;
  std::unique_ptr<http::HttpServer> server_;
  std::string address_;
};

TEST_F(Sharing, OneTunesAndAllBuild) {
  const Output tuned = tune("ann");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr(" went to https://" + address_ + "\n"));
  // Ann on another machine; Bob, who trusts nobody, and who trusts Ann.
  std::filesystem::rename(path("ann.db"), path("ann-tuned.db"));
  setenv("XDG_CACHE_HOME", path("another-machine").c_str(), 1);  // here it is known to be absent for minutes
  Output built = build("ann");
  unsetenv("XDG_CACHE_HOME");
  ASSERT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(config_line(built), StartsWith("config: best (exact workload, confirmed"));
  EXPECT_THAT(config_line(built), EndsWith(" from https://" + address_ + " (tuner ann); trusted"));
  built = build("bob");
  EXPECT_THAT(config_line(built), EndsWith(" from https://" + address_ + " (tuner ann); elsewhere"));
  built = build("bob", {"--trust-tenant", "tuner ann"});
  EXPECT_THAT(config_line(built), EndsWith(" (tuner ann); trusted"));
  built = build("bob", {"--trust-tenant", "ann"});
  EXPECT_EQ(built.code, 2) << built.err;
  EXPECT_THAT(built.err, HasSubstr("--trust-tenant 'ann': expected role and name")) << "no row can be of that";
  built = build("bob", {"--min-confidence", "trusted"});
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(config_line(built), StartsWith("config: default (less than --min-confidence asks for, elsewhere: best"));
  // Why, in the words of the same code.
  const Output why = run(with_team({"tophub", "why", kWorkload, "--target=llvm", "--json"}, "bob"));
  ASSERT_EQ(why.code, 0) << why.err;
  std::istringstream rows(why.out);
  std::string first;
  std::getline(rows, first);
  EXPECT_EQ(Json::parse(first)["taken"], true) << why.out;
  EXPECT_EQ(Json::parse(first)["owner"], "tuner ann");
  // The service is gone: the cache answers, and says how old that is.
  server_.reset();
  built = build("bob");
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(config_line(built), EndsWith(" (tuner ann); elsewhere"));
  EXPECT_THAT(built.err, Not(HasSubstr("warning"))) << "it was asked just now";
  setenv("HONE_TOPHUB_REFRESH", "0", 1);
  built = build("bob");
  unsetenv("HONE_TOPHUB_REFRESH");
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(config_line(built), EndsWith(" (tuner ann); elsewhere"));
  EXPECT_THAT(built.err, HasSubstr("; its answers of "));
}

// The misses of builds are tuned, and are missed no more.
TEST_F(Sharing, MissesAreTuned) {
  const Output before = build("bob");
  EXPECT_THAT(config_line(before), StartsWith("config: default"));
  const Words from = {"tuner",
                      "--from-tophub=https://" + address_,
                      "--trials=6",
                      "--repeat=2",
                      "--min-repeat-ms=0.2",
                      "--tls-ca=" + path("ca"),
                      "--token-file=" + path("ann"),
                      "--db=" + path("night.db")};
  const Output tuned = run(from);
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr("1 workload that builds miss in https://" + address_));
  EXPECT_THAT(tuned.err, HasSubstr(" went to https://" + address_ + "\n"));
  const Output again = run(from);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, StartsWith("nothing to tune: builds miss nothing for llvm "));
  setenv("HONE_TOPHUB_REFRESH", "0", 1);
  const Output after = build("bob");
  unsetenv("HONE_TOPHUB_REFRESH");
  EXPECT_THAT(config_line(after), EndsWith(" from https://" + address_ + " (tuner ann); elsewhere"));
  Words both = from;
  both.push_back("--task=dense");
  EXPECT_THAT(expect_refused(2, both), HasSubstr("--from-tophub names its workloads itself"));
}

TEST_F(Sharing, AnUnknownTokenEndsABuild) {
  const Output built = build("eve");
  EXPECT_EQ(built.code, 2) << built.err;
  EXPECT_THAT(built.err, HasSubstr(address_));
}

TEST_F(Sharing, NothingIsLostWhereNobodyAnswers) {
  server_.reset();
  const Output tuned = tune("ann");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr("left out of the lookup"));
  EXPECT_THAT(tuned.err, HasSubstr(" did not go to https://" + address_ + " yet"));
  const std::string hub = "https://" + address_;
  const int64_t waiting = *db::Outbox(**db::Store::open(path("ann.db"))).count(hub);
  EXPECT_GT(waiting, 0);
  serve(address_);
  // The command that was printed.
  const size_t begin = tuned.err.find("`tophub sync ");
  ASSERT_NE(begin, std::string::npos) << tuned.err;
  const std::string printed = tuned.err.substr(begin + 1, tuned.err.find('`', begin + 1) - begin - 1);
  std::istringstream in(printed);
  const Words words{std::istream_iterator<std::string>(in), {}};
  const Output sent = run(words);
  EXPECT_EQ(sent.code, 0) << sent.err;
  EXPECT_EQ(sent.out, fmt::format("{}: {} trials and 0 choices were sent, 0 wait\n", hub, waiting));
  EXPECT_EQ(*db::Outbox(**db::Store::open(path("ann.db"))).count(hub), 0);
  EXPECT_THAT(config_line(build("bob")), EndsWith(" (tuner ann); elsewhere"));
}

// Rows that a killed session had confirmed go with the next.
TEST_F(Sharing, AKilledSessionLosesNothing) {
  server_.reset();
  {
    Program tuner = start(with_team(
        {"tuner", "--workload", kWorkload, "--trials", "6", "--repeat", "2", "--min-repeat-ms", "0.2"}, "ann"));
    const std::string hub = "https://" + address_;
    ASSERT_TRUE(eventually([&] {
      auto store = db::open_for_reading(path("ann.db"));
      return store.ok() && db::Outbox(**store).count(hub).value_or(0) > 0;
    }));
    tuner.signal(SIGKILL);
    tuner.wait();
  }
  serve(address_);
  const Output tuned = tune("ann");
  EXPECT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr(" went to https://" + address_));
  EXPECT_EQ(*db::Outbox(**db::Store::open(path("ann.db"))).count("https://" + address_), 0);
}

}  // namespace
}  // namespace hone::e2e
