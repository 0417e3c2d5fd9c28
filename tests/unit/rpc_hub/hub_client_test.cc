// The client against services that answer nonsense, too much, or another's rows.
#include "base/json.h"
#include "db/row_json.h"
#include "rpc/wire/access/fleet_file.h"
#include "tests/fakes/scripted_server.h"
#include "tests/unit/rpc_hub/hub_fixture.h"

namespace hone::hub {
namespace {

using fakes::http_answer;
using fakes::ScriptedServer;
using testing::HasSubstr;
using testing::IsEmpty;

std::shared_ptr<db::RemoteHub> hub_at(const std::string& url) {
  http::ClientOptions options{.connect_timeout = std::chrono::milliseconds(500),
                              .timeout = std::chrono::milliseconds(500)};
  return std::make_shared<HubClient>(http::HttpClient::make(http::Url::parse(url).value(), options).value());
}

TEST(HubClient, NonsenseIsUnavailable) {
  for (const std::string body :
       {"", "nonsense", "[]", "{}", "{\"bests\": 3}", "<html>", "{\"bests\": [], \"tenant\": 1}"}) {
    ScriptedServer server([&](const auto& peer) { return peer.say(http_answer(body)), true; });
    const auto hub = hub_at(server.url());
    for (const Status& status : {hub->ask(dense_query()).status(), hub->push(one_session("s")),
                                 hub->misses("llvm", 5).status(), hub->prior("llvm", "aa").status()}) {
      EXPECT_TRUE(absl::IsUnavailable(status)) << body << ": " << status;
      EXPECT_THAT(message_of(status), testing::StartsWith(server.url()));
      EXPECT_EQ(message_of(status).find('\n'), std::string::npos);
    }
  }
}

TEST(HubClient, StatusesHaveMeanings) {
  for (const auto& [line, code] :
       {std::pair{"400 Bad", absl::StatusCode::kInvalidArgument},
        std::pair{"401 Who", absl::StatusCode::kUnauthenticated},
        std::pair{"403 No", absl::StatusCode::kPermissionDenied}, std::pair{"404 None", absl::StatusCode::kNotFound},
        std::pair{"405 No", absl::StatusCode::kNotFound}, std::pair{"409 Theirs", absl::StatusCode::kInvalidArgument},
        std::pair{"413 Big", absl::StatusCode::kInvalidArgument}, std::pair{"429 Busy", absl::StatusCode::kUnavailable},
        std::pair{"500 Bug", absl::StatusCode::kUnavailable}, std::pair{"503 Busy", absl::StatusCode::kUnavailable},
        std::pair{"500 Worse", absl::StatusCode::kUnavailable}}) {
    ScriptedServer server(
        [&](const auto& peer) { return peer.say(http_answer("{\"error\":\"so it is\\n\\u001b[2J\"}", line)), true; });
    const Status status = hub_at(server.url())->ask(dense_query()).status();
    EXPECT_EQ(status.code(), code) << line;
    EXPECT_THAT(message_of(status), HasSubstr("so it is"));
    EXPECT_EQ(message_of(status).find_first_of("\n\x1b"), std::string::npos) << "no terminal obeys it";
  }
}

TEST(HubClient, RowsThatLieAreLeftOut) {
  db::TeamBest lie;
  lie.row.workload = db::kDense, lie.row.target = db::kTarget, lie.row.seconds = 1e-15;
  ScriptedServer server([&](const auto& peer) {
    return peer.say(http_answer(db::team_answer_json({{lie}, {}, {}}, "tuner ann"))), true;
  });
  const auto answer = hub_at(server.url())->ask(dense_query());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->bests, IsEmpty());
}

TEST(HubClient, AnotherPriorIsNotTaken) {
  db::PriorRow prior = db::sample_prior();
  ScriptedServer server([&](const auto& peer) {
    return peer.say(http_answer(json_line(OrderedJson{{"prior", db::to_json(prior)}}))), true;
  });
  const auto hub = hub_at(server.url());
  EXPECT_TRUE(hub->prior(prior.target_kind, prior.schema).ok());
  EXPECT_TRUE(absl::IsUnavailable(hub->prior("cuda", prior.schema).status()));
  prior.model = std::string(db::kMostModelBytes + 1, 'x');
  EXPECT_TRUE(absl::IsUnavailable(hub->prior(prior.target_kind, prior.schema).status()));
}

TEST(HubClient, TheFleetFileGoesToItsOwnHostsOnly) {
  const TemporaryFolder folder;
  const gate::KeyPair ca = gate::make_ca("fleet").value();
  wire::FleetFile fleet{"tuner", "ann", {wire::Address::parse("lab.example:9190").value()}, {}};
  fleet.credentials.ca = ca.certificate, fleet.credentials.token = kAnn;
  const std::string path = folder.path() + "/fleet";
  std::ofstream(path) << wire::fleet_file_text(fleet);
  chmod(path.c_str(), 0600);
  EXPECT_TRUE(open_hub("https://lab.example:9200", {.fleet = path}, false).ok());
  const auto other = open_hub("https://evil.example:9200", {.fleet = path}, false);
  EXPECT_TRUE(absl::IsInvalidArgument(other.status()));
  EXPECT_THAT(message_of(other.status()), HasSubstr("lab.example"));
}

}  // namespace
}  // namespace hone::hub
