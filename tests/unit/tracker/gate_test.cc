// Tokens, certificates, limits and the log of those who were turned away, each by itself.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "rpc/gate/acceptor.h"
#include "rpc/gate/authority.h"
#include "rpc/gate/certificates.h"
#include "rpc/gate/connection_gate.h"
#include "rpc/gate/http_auth.h"
#include "rpc/gate/peer_name.h"
#include "rpc/gate/rejections.h"
#include "rpc/wire/access/credentials.h"
#include "rpc/wire/access/pem.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string kAdmin(32, 'a'), kTuner(32, 't'), kLab1(32, '1'), kLab2(32, '2'), kAny(32, '*');
const std::string kTokens = "# who may what\n\nadmin boss " + kAdmin + "\ntuner night " + kTuner + "\nagent lab1 " +
                            kLab1 + "\n  agent  *  " + kAny + "\n";

TEST(Tokens, ALineIsRoleNameToken) {
  const auto table = gate::TokenTable::parse(kTokens);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->size(), 4u);
  ASSERT_NE(table->find(kLab1), nullptr);
  EXPECT_EQ(table->find(kLab1)->role, gate::Role::kAgent);
  EXPECT_EQ(table->find(kLab1)->name, "lab1");
  EXPECT_EQ(table->find(kLab2), nullptr);
  EXPECT_EQ(table->find(""), nullptr);
  EXPECT_EQ(table->find(kLab1.substr(1)), nullptr) << "a prefix is not enough";
}

TEST(Tokens, ALineMayLimitWhatItsTokenAsksFor) {
  const auto table =
      gate::TokenTable::parse("tuner night " + kTuner + " bytes=64M  sessions=3\tweight=2.5 priority=-7\nadmin boss " +
                              kAdmin + "\ntuner day " + kLab2 + "\n")
          .value();
  EXPECT_EQ(table.find(kTuner)->limits,
            (gate::TenantLimits{.priority = -7, .weight = 2.5, .sessions = 3, .bytes = 64 << 20}));
  EXPECT_EQ(table.find(kAdmin)->limits, gate::TenantLimits()) << "an administrator's are those of nobody";
  EXPECT_EQ(table.find(kLab2)->limits, (gate::TenantLimits{.priority = 0, .weight = 10, .sessions = 256}));
}

TEST(Tokens, ABadFileIsOneLineThatNamesTheLineAndQuotesNothing) {
  const std::string secret = "hunter2hunter2hunter2";
  for (const auto& [text, what] : std::map<std::string, std::string>{
           {"", "no token"},
           {"# only this\n", "no token"},
           {"\nroot * " + secret, "line 2 does not begin with a role"},
           {"agent " + secret, "line 1 has 2 words"},
           {"agent a " + secret + " b", "line 1 has a word after the token that is not a limit"},
           {"tuner a " + secret + " " + secret + "=1", "not a limit"},
           {"tuner a " + secret + " weight=", "bad weight; allowed: 0.000001 to 1000000"},
           {"tuner a " + secret + " weight=nan", "bad weight"},
           {"tuner a " + secret + " priority=1001", "bad priority; allowed: -1000 to 1000"},
           {"tuner a " + secret + " sessions=0", "bad sessions"},
           {"tuner a " + secret + " sessions=1 sessions=2", "gives sessions twice"},
           {"tuner a " + secret + " bytes=1K", "bad bytes; allowed: 1M or more"},
           {"tuner a " + secret + " bytes=99999999999999999999G", "bad bytes"},
           {"agent a short", "line 1 a token must have 16 to 256 characters"},
           {"agent a " + std::string(257, 'x'), "line 1 a token must have"},
           {"agent a " + secret + "\xc3\xa9", "printable ASCII"},
           {"agent a " + secret + "\nagent b " + secret, "line 2 repeats a token"}}) {
    const auto table = gate::TokenTable::parse(text);
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_THAT(message_of(table.status()), HasSubstr(what));
    EXPECT_THAT(message_of(table.status()), testing::Not(HasSubstr(secret)));
  }
}

class AuthorityFile : public testing::Test {
 protected:
  AuthorityFile() { write(kTokens); }
  void write(const std::string& text, mode_t mode = 0600) {
    // A new file each time, as editors do: the stamp differs however coarse the file system's clock is.
    const std::string fresh = path_ + ".new";
    std::ofstream(fresh) << text;
    chmod(fresh.c_str(), mode);
    std::filesystem::rename(fresh, path_);
  }
  gate::Judgement judge(const std::string& token, std::optional<gate::Role> role) {
    return authority_->judge({token, ""}, role);
  }
  gate::Refusal refusal(const std::string& token, gate::Role role) {
    const gate::Judgement out = judge(token, role);
    EXPECT_FALSE(out.grant);
    EXPECT_THAT(out.text, testing::Not(HasSubstr(kLab1)));
    return out.reason;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  FakeClock clock_;
  std::unique_ptr<gate::Authority> authority_;
};

TEST_F(AuthorityFile, RolesAreKeptApart) {
  authority_ = gate::Authority::make({path_, false}, clock_).value();
  EXPECT_FALSE(authority_->is_open());
  EXPECT_TRUE(judge(kLab1, gate::Role::kAgent).grant);
  EXPECT_TRUE(judge(kTuner, gate::Role::kTuner).grant);
  for (const gate::Role role : {gate::Role::kAgent, gate::Role::kTuner, gate::Role::kAdmin})
    EXPECT_TRUE(judge(kAdmin, role).grant) << "an admin may do all";
  for (const auto& token : {kLab1, kTuner, kAdmin, kAny}) EXPECT_TRUE(judge(token, std::nullopt).grant);
  EXPECT_EQ(refusal(kLab1, gate::Role::kTuner), gate::Refusal::kWrongRole);
  EXPECT_EQ(refusal(kTuner, gate::Role::kAgent), gate::Refusal::kWrongRole);
  EXPECT_EQ(refusal(kTuner, gate::Role::kAdmin), gate::Refusal::kWrongRole);
  EXPECT_EQ(refusal("", gate::Role::kAgent), gate::Refusal::kNoToken);
  EXPECT_EQ(refusal(kLab2, gate::Role::kAgent), gate::Refusal::kBadToken);
  EXPECT_EQ(judge(kAdmin, {}).grant->role_name(), "admin");
  EXPECT_EQ(judge(kTuner, {}).grant->role_name(), "tuner");
  EXPECT_EQ(judge(kLab1, {}).grant->role_name(), "agent");
  EXPECT_EQ(gate::Grant{}.role_name(), "open");
}

TEST_F(AuthorityFile, ATokenIsBoundToItsName) {
  authority_ = gate::Authority::make({path_, false}, clock_).value();
  EXPECT_TRUE(judge(kLab1, gate::Role::kAgent).grant->allows_name("lab1"));
  EXPECT_FALSE(judge(kLab1, gate::Role::kAgent).grant->allows_name("lab2"));
  EXPECT_TRUE(judge(kAny, gate::Role::kAgent).grant->allows_name("lab2"));
  EXPECT_TRUE(gate::Grant{}.allows_name("anything"));
}

TEST_F(AuthorityFile, ANameWithALineOfItsOwnNeedsThatLinesToken) {
  authority_ = gate::Authority::make({path_, false}, clock_).value();
  const auto allows = [&](const std::string& token, const char* name) {
    return authority_->allows_name(*judge(token, gate::Role::kAgent).grant, name);
  };
  EXPECT_TRUE(allows(kLab1, "lab1"));
  EXPECT_FALSE(allows(kAny, "lab1"));
  EXPECT_TRUE(allows(kAny, "lab2"));
  EXPECT_FALSE(allows(kLab1, "lab2"));
}

TEST_F(AuthorityFile, SessionsBelongToRoleAndName) {
  authority_ = gate::Authority::make({path_, false}, clock_).value();
  const gate::Grant night = *judge(kTuner, gate::Role::kTuner).grant, boss = *judge(kAdmin, gate::Role::kTuner).grant;
  EXPECT_EQ(night.tenant().name, "tuner night");
  EXPECT_EQ(boss.tenant().name, "admin boss");
  EXPECT_TRUE(boss.is_admin());
  EXPECT_FALSE(night.is_admin());
  EXPECT_FALSE(gate::Grant{}.is_admin()) << "on an open port nobody proves anything";
  EXPECT_EQ(gate::Grant{}.tenant().name, "");
}

TEST_F(AuthorityFile, AChangedFileIsReadAgainAndABadOneChangesNothing) {
  authority_ = gate::Authority::make({path_, false}, clock_).value();
  const gate::Grant lab1 = *judge(kLab1, gate::Role::kAgent).grant, boss = *judge(kAdmin, gate::Role::kAdmin).grant;
  EXPECT_FALSE(authority_->refresh());
  clock_.advance(2s);
  EXPECT_FALSE(authority_->refresh()) << "nothing has changed";

  write("admin boss " + kAdmin + "\nagent lab2 " + kLab2 + "\n");
  EXPECT_FALSE(authority_->refresh()) << "not looked at again within a second";
  clock_.advance(1s);
  EXPECT_TRUE(authority_->refresh());
  EXPECT_TRUE(judge(kLab2, gate::Role::kAgent).grant);
  EXPECT_EQ(refusal(kLab1, gate::Role::kAgent), gate::Refusal::kBadToken) << "removed";
  EXPECT_FALSE(authority_->still_holds(lab1));
  EXPECT_TRUE(authority_->still_holds(boss));

  for (const auto& [text, mode] : {std::pair<std::string, mode_t>{"nonsense", 0600}, {kTokens, 0644}}) {
    write(text, mode);
    clock_.advance(1s);
    EXPECT_FALSE(authority_->refresh());
    EXPECT_TRUE(judge(kLab2, gate::Role::kAgent).grant) << text;
  }
  std::filesystem::remove(path_);
  clock_.advance(1s);
  EXPECT_FALSE(authority_->refresh());
  EXPECT_TRUE(judge(kLab2, gate::Role::kAgent).grant);
  write(kTokens);
  clock_.advance(1s);
  EXPECT_TRUE(authority_->refresh());
  EXPECT_TRUE(judge(kLab1, gate::Role::kAgent).grant);
  EXPECT_TRUE(authority_->still_holds(lab1));
}

TEST_F(AuthorityFile, AFileThatOthersMayReadIsRefused) {
  for (const mode_t mode : {0604, 0602, 0620, 0666}) {
    write(kTokens, mode);
    const auto made = gate::Authority::make({path_, false}, clock_);
    ASSERT_FALSE(made.ok()) << mode;
    EXPECT_THAT(message_of(made.status()), HasSubstr("chmod 600 " + path_));
  }
  write(kTokens, 0640);  // a group is how secrets are mounted
  EXPECT_TRUE(gate::Authority::make({path_, false}, clock_).ok());
  EXPECT_THAT(message_of(gate::Authority::make({folder_.path() + "/none", false}, clock_).status()),
              HasSubstr("--token-file " + folder_.path() + "/none"));
  EXPECT_FALSE(gate::Authority::make({folder_.path(), false}, clock_).ok()) << "a folder";
}

class WithCertificates : public testing::Test {
 protected:
  std::string signed_for(const std::string& common_name, const std::string& organization) {
    return gate::make_certificate(ca_, {common_name, organization}).value().certificate;
  }
  const gate::KeyPair ca_ = gate::make_ca("a test").value();
  FakeClock clock_;
};

TEST_F(WithCertificates, TheCertificateGivesNameAndRole) {
  const auto authority = gate::Authority::make({"", true}, clock_).value();
  EXPECT_FALSE(authority->is_open());
  const auto judge = [&](const std::string& certificate, std::optional<gate::Role> role) {
    return authority->judge({"", certificate}, role);
  };
  const std::string lab1 = signed_for("lab1", "agent");
  ASSERT_TRUE(judge(lab1, gate::Role::kAgent).grant);
  EXPECT_TRUE(judge(lab1, gate::Role::kAgent).grant->allows_name("lab1"));
  EXPECT_FALSE(judge(lab1, gate::Role::kAgent).grant->allows_name("lab2"));
  EXPECT_EQ(judge(lab1, gate::Role::kTuner).reason, gate::Refusal::kWrongRole);
  EXPECT_EQ(judge("", std::nullopt).reason, gate::Refusal::kNoCertificate);
  EXPECT_EQ(judge(signed_for("lab1", "Some Company"), std::nullopt).reason, gate::Refusal::kNoCertificate)
      << "O names no role";
  EXPECT_TRUE(judge(signed_for("boss", "admin"), gate::Role::kAgent).grant->allows_name("lab7"))
      << "an admin may do all";
}

TEST_F(WithCertificates, WithATokenTooBothMustFit) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/tokens";
  std::ofstream(path) << kTokens;
  chmod(path.c_str(), 0600);
  const auto authority = gate::Authority::make({path, true}, clock_).value();
  const auto judge = [&](const std::string& token, const std::string& certificate, gate::Role role) {
    return authority->judge({token, certificate}, role);
  };
  const std::string lab1 = signed_for("lab1", "agent"), lab2 = signed_for("lab2", "agent"),
                    tuner = signed_for("t", "tuner"), boss = signed_for("boss", "admin");
  EXPECT_TRUE(judge(kLab1, lab1, gate::Role::kAgent).grant->allows_name("lab1"));
  EXPECT_FALSE(judge(kLab1, lab2, gate::Role::kAgent).grant->allows_name("lab1")) << "another agent's certificate";
  EXPECT_FALSE(judge(kLab1, lab2, gate::Role::kAgent).grant->allows_name("lab2")) << "another agent's token";
  EXPECT_EQ(judge(kLab1, tuner, gate::Role::kAgent).reason, gate::Refusal::kWrongRole);
  EXPECT_EQ(judge(kLab1, "", gate::Role::kAgent).reason, gate::Refusal::kNoCertificate);
  EXPECT_EQ(judge("", lab1, gate::Role::kAgent).reason, gate::Refusal::kNoToken);
  EXPECT_EQ(judge(kAdmin, lab1, gate::Role::kAdmin).reason, gate::Refusal::kWrongRole)
      << "a stolen token without its certificate";
  EXPECT_TRUE(judge(kAdmin, boss, gate::Role::kAdmin).grant);
  EXPECT_TRUE(authority->judge_http({kTuner, ""}).grant) << "a browser has no certificate";
  EXPECT_FALSE(authority->judge_http({"", lab1}).grant);
}

TEST_F(WithCertificates, KeysAndNamesFit) {
  const gate::KeyPair tracker =
      gate::make_certificate(ca_, {"tracker", "", {"lab.example", "10.1.2.3", "fd00::7", "localhost"}, true}).value();
  EXPECT_TRUE(wire::check_certificates(ca_.certificate + tracker.certificate).ok());
  EXPECT_FALSE(wire::check_certificates("").ok());
  EXPECT_FALSE(wire::check_certificates(tracker.key).ok());
  EXPECT_FALSE(
      wire::check_certificates(ca_.certificate + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
          .ok());
  EXPECT_TRUE(wire::check_key_pair(tracker.certificate, tracker.key).ok());
  EXPECT_FALSE(wire::check_key_pair(tracker.certificate, ca_.key).ok());
  for (const char* host : {"lab.example", "10.1.2.3", "fd00::7", "localhost"})
    EXPECT_TRUE(wire::certificate_is_for(tracker.certificate, host)) << host;
  for (const char* host : {"evil.example", "10.1.2.4", "x.lab.example", ""})
    EXPECT_FALSE(wire::certificate_is_for(tracker.certificate, host)) << host;
  EXPECT_EQ(gate::hosts_of(tracker.certificate),
            (std::vector<std::string>{"lab.example", "10.1.2.3", "fd00::7", "localhost"}));
}

TEST(RandomToken, IsLongAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(gate::random_token().value());
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(seen.begin()->size(), 64u);
}

TEST(ClientCredentials, ATokenFileHoldsOneTokenOrALineOfTheTrackers) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/token";
  const auto load = [&](const std::string& text, mode_t mode = 0600) {
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return wire::load_credentials({.ca = "", .certificate = "", .key = "", .token = path});
  };
  EXPECT_EQ(load(kLab1)->token, kLab1);
  EXPECT_EQ(load("# mine\n" + kLab1 + "\n")->token, kLab1);
  EXPECT_EQ(load("agent lab1 " + kLab1 + "\n")->token, kLab1);
  for (const auto& bad : {std::string(), kLab1 + "\n" + kLab2 + "\n", "lab1 " + kLab1, std::string("short")}) {
    const auto loaded = load(bad);
    ASSERT_FALSE(loaded.ok()) << bad;
    EXPECT_THAT(message_of(loaded.status()), testing::StartsWith("--token-file " + path));
    EXPECT_THAT(message_of(loaded.status()), testing::Not(HasSubstr(kLab1)));
  }
  EXPECT_FALSE(load(kLab1, 0644).ok());
  EXPECT_FALSE(wire::load_credentials({.ca = "", .certificate = "x", .key = "", .token = ""}).ok())
      << "a certificate without its key";
  EXPECT_FALSE(wire::load_credentials({.ca = path, .certificate = "", .key = "", .token = ""}).ok())
      << "not a certificate";
}

TEST(Rejections, ToldOnceAMinuteForEachPeerAndCountedAlways) {
  FakeClock clock;
  std::vector<gate::Rejections::Line> lines;
  gate::Rejections rejections(clock, [&](const gate::Rejections::Line& line) { lines.push_back(line); });
  for (int i = 0; i < 100; ++i)
    rejections.note("10.0.0.1", gate::Refusal::kBadToken, "the tracker does not know the token");
  rejections.note("10.0.0.2", gate::Refusal::kHost, "not ours");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].peer, "10.0.0.1");
  EXPECT_EQ(lines[0].reason, gate::Refusal::kBadToken);
  EXPECT_EQ(lines[0].untold, 0u);
  clock.advance(60s);
  rejections.note("10.0.0.1", gate::Refusal::kNoToken, "none");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2].untold, 99u);
  EXPECT_EQ(rejections.counts().at("bad_token"), 100u);
  EXPECT_EQ(rejections.counts().at("no_token"), 1u);
  EXPECT_EQ(rejections.counts().size(), gate::kRefusals) << "a metric for each reason, at zero too";
}

TEST(Rejections, ManyPeersFillNeitherMemoryNorLog) {
  FakeClock clock;
  size_t lines = 0;
  gate::Rejections rejections(clock, [&](const gate::Rejections::Line&) { ++lines; });
  for (int i = 0; i < 100'000; ++i)
    rejections.note("10.0." + std::to_string(i), gate::Refusal::kConnections, "too many");
  EXPECT_EQ(lines, gate::Rejections::kMaxPeers + 1);
  EXPECT_EQ(rejections.counts().at("connections"), 100'000u);
  clock.advance(60s);
  rejections.note("192.0.2.1", gate::Refusal::kConnections, "too many");
  EXPECT_EQ(lines, gate::Rejections::kMaxPeers + 2) << "room for newcomers again";
}

TEST(PeerName, IsTheAddressAHostHasOrItsNetworkWithoutThePort) {
  EXPECT_EQ(gate::peer_name("ipv4:127.0.0.1:4711"), "127.0.0.1");
  EXPECT_EQ(gate::peer_name("ipv6:%5B::1%5D:4711"), "::1");
  EXPECT_EQ(gate::peer_name("ipv6:[fe80::1%252]:4711"), "fe80::/64");
  EXPECT_EQ(gate::peer_name("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:1"), "2001:db8:1:2::/64")
      << "one host may have all of these";
  EXPECT_EQ(gate::peer_name("ipv6:%5B::ffff:10.1.2.3%5D:1"), "10.1.2.3");
  EXPECT_EQ(gate::peer_name("unix:"), "unix");
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  inet_pton(AF_INET6, "2001:db8:1:2::9", &v6.sin6_addr);
  EXPECT_EQ(gate::peer_name(reinterpret_cast<const sockaddr&>(v6)), "2001:db8:1:2::/64");
}

TEST(Acceptor, LeavesAFileAloneThatIsNoSocket) {
  const FakeClock clock;
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/notes";
  std::ofstream(path) << "not a socket";
  chmod(path.c_str(), 0644);
  const auto taken = gate::Acceptor::listen(wire::Address::parse("unix:" + path).value(), {},
                                            std::make_shared<gate::Rejections>(clock), clock);
  ASSERT_FALSE(taken.ok());
  EXPECT_THAT(message_of(taken.status()), HasSubstr(path));
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);
}

class Gate : public testing::Test {
 protected:
  // Connects as often as it is let in, `times` at most.
  size_t connect(const std::string& peer, size_t times) {
    size_t in = 0;
    for (size_t i = 0; i < times; ++i) {
      if (gate_.judge(peer)) continue;
      gate_.add(peer, {next_, static_cast<ino_t>(next_)});
      open_.insert(next_++);
      ++in;
    }
    return in;
  }
  FakeClock clock_;
  std::set<int> open_;
  int next_ = 1;
  size_t asked_ = 0;
  gate::ConnectionGate gate_{
      {.connections = 10, .per_peer = 4}, clock_, [this](const gate::ConnectionGate::Socket& socket) {
        ++asked_;
        return open_.contains(socket.fd);
      }};
};

TEST_F(Gate, OnePeerGetsItsShareAndOthersTheirs) {
  EXPECT_EQ(connect("a", 100), 4u);
  EXPECT_EQ(gate_.judge("a"), gate::Refusal::kPeerConnections);
  EXPECT_EQ(connect("b", 100), 4u);
  EXPECT_EQ(connect("c", 100), 2u);
  EXPECT_EQ(gate_.judge("d"), gate::Refusal::kConnections);
  EXPECT_EQ(gate_.connections(), 10u);
}

TEST_F(Gate, ClosedConnectionsMakeRoomWhenALimitIsReached) {
  connect("a", 4);
  open_.clear();
  EXPECT_EQ(gate_.judge("a"), gate::Refusal::kPeerConnections) << "looked at a moment ago";
  clock_.advance(gate::ConnectionGate::kSweepPause);
  EXPECT_EQ(connect("a", 4), 4u);
  EXPECT_EQ(gate_.connections(), 4u);
}

TEST_F(Gate, AFloodDoesNotMakeItLookAllTheTime) {
  connect("a", 4);
  asked_ = 0;
  for (int i = 0; i < 10'000; ++i) gate_.judge("a");
  EXPECT_LE(asked_, 4u);
}

TEST(HttpAuth, TheTokenIsABearersOrAPassword) {
  EXPECT_EQ(gate::token_in_header("Bearer abc"), "abc");
  EXPECT_EQ(gate::token_in_header("bearer abc"), "abc");
  EXPECT_EQ(gate::token_in_header("Basic dXNlcjpzZWNyZXQ="), "secret");
  EXPECT_EQ(gate::token_in_header("Basic OnNlY3JldDE6Mg=="), "secret1:2");
  for (const char* bad : {"", "Bearer", "Basic", "Basic !!!!", "Basic dXNlcg==", "Digest x", "Basic dXNlcjpzZWNyZXQ"})
    EXPECT_EQ(gate::token_in_header(bad), "") << bad;
}

}  // namespace
}  // namespace hone::tracker
