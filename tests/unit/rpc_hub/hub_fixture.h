// A team's tophub with everything but its store: server, tokens, clients.
#pragma once

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>

#include "base/clock.h"
#include "rpc/gate/certificates.h"
#include "rpc/http/http.h"
#include "rpc/hub/hub_client.h"
#include "rpc/hub/hub_pages.h"
#include "tests/fakes/fake_team_store.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/unit/db/db_fixture.h"

namespace hone::hub {

inline const std::string kAnn = "ann-0123456789abcdef", kBob = "bob-0123456789abcdef", kEve = "eve-0123456789abcdef",
                         kBoss = "boss-0123456789abcdef", kLab = "lab-0123456789abcdef";
inline constexpr int64_t kNow = 1'750'000'000'000;

class HubFixture : public testing::Test {
 protected:
  HubFixture() {
    write("tokens", "tuner ann " + kAnn + "\ntuner bob " + kBob + "\ntuner eve " + kEve + " rows=hidden\nadmin boss " +
                        kBoss + "\nagent lab " + kLab + "\n");
  }

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    chmod(path(name).c_str(), 0600);
  }

  /// `tokens`: asked for; else the port is open. `tls`: with certificates of a CA of its own.
  void start(bool tokens = true, bool tls = false, http::HttpLimits limits = {}) {
    gate::Security security;
    if (tls) {
      const gate::KeyPair own = gate::make_certificate(ca_, {"tophub", "", {"127.0.0.1", "localhost"}, true}).value();
      write("cert", own.certificate), write("key", own.key), write("ca", ca_.certificate);
      security.tls.certificate = path("cert"), security.tls.key = path("key");
    }
    security.authority = gate::Authority::make({tokens ? path("tokens") : "", false}, clock_).value();
    security.rejections = std::make_shared<gate::Rejections>(clock_, [](const auto&) {});
    HubOptions options{.now_ms = [] { return kNow; }, .scratch = folder_.path(), .rejections = security.rejections};
    server_ = http::HttpServer::start(wire::Address::parse("127.0.0.1:0").value(), hub_pages(store_, options), clock_,
                                      security, limits)
                  .value();
    url_ = (tls ? "https://" : "http://") + server_->address().text();
  }

  std::shared_ptr<http::HttpClient> raw(const std::string& token) const {
    http::ClientOptions options{.credentials = {.token = token}, .timeout = std::chrono::seconds(20)};
    if (url_.find("https") == 0) options.credentials.ca = ca_.certificate;
    return http::HttpClient::make(http::Url::parse(url_).value(), options).value();
  }
  std::shared_ptr<db::RemoteHub> hub(const std::string& token) {
    write("token-of-client", token + "\n");
    auto made = open_hub(
        url_, {.ca = url_.find("https") == 0 ? path("ca") : "", .token = token.empty() ? "" : path("token-of-client")},
        false);
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(made).value();
  }
  http::ClientAnswer post(const std::string& token, const std::string& page, const std::string& body) const {
    auto answer = raw(token)->send({.method = "POST", .path = page, .body = body, .headers = {{"X-Hone", "1"}}});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *std::move(answer) : http::ClientAnswer();
  }
  http::ClientAnswer get(const std::string& token, const std::string& page) const {
    auto answer = raw(token)->send({.path = page});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *std::move(answer) : http::ClientAnswer();
  }

  const SteadyClock clock_;
  const TemporaryFolder folder_;
  const gate::KeyPair ca_ = gate::make_ca("a test").value();
  db::FakeTeamStore store_;
  std::unique_ptr<http::HttpServer> server_;
  std::string url_;
};

/// A session of one confirmed trial.
inline db::RecordSet one_session(const std::string& uuid, double seconds = 0.5) {
  db::TrialRow trial = db::confirmed_trial(1, seconds, "tile=1");
  trial.session = uuid;
  return {.sessions = {{uuid, db::kDense, db::kTarget, "feed1234", "xgb", 7, 1000, 2000, "done"}}, .trials = {trial}};
}

inline db::TeamQuery dense_query() { return {{{db::kDense, db::kTarget}}, true}; }

}  // namespace hone::hub
