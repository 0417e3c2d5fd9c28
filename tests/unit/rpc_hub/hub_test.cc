// The service and its client together, over a store in memory.
#include "tests/unit/rpc_hub/hub_fixture.h"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <random>
#include <sstream>
#include <thread>

#include "base/json.h"

namespace hone::hub {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

TEST_F(HubFixture, RowsOfOneAreSeenByAnother) {
  start(true, true);
  const auto ann = hub(kAnn), bob = hub(kBob);
  ASSERT_TRUE(ann->push(one_session("s-ann")).ok());
  EXPECT_EQ(ann->tenant(), "tuner ann");
  const auto answer = bob->ask(dense_query());
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_THAT(answer->bests, SizeIs(1));
  EXPECT_EQ(answer->bests[0].owner, "tuner ann");
  EXPECT_EQ(answer->bests[0].row.seconds, 0.5);
  EXPECT_TRUE(answer->bests[0].row.confirmed);
  EXPECT_EQ(bob->tenant(), "tuner bob");
  EXPECT_EQ(bob->name(), url_);
}

TEST_F(HubFixture, WhatIsSentTwiceChangesNothing) {
  start();
  const auto ann = hub(kAnn);
  ASSERT_TRUE(ann->push(one_session("s-ann")).ok());
  ASSERT_TRUE(ann->push(one_session("s-ann")).ok());
  EXPECT_EQ(ann->ask(dense_query())->bests.at(0).trials, 1);
}

TEST_F(HubFixture, HiddenRowsAreSeenByTheirOwnerAndAdminsAlone) {
  start();
  ASSERT_TRUE(hub(kEve)->push(one_session("s-eve")).ok());
  EXPECT_THAT(hub(kBob)->ask(dense_query())->bests, IsEmpty());
  EXPECT_THAT(hub(kEve)->ask(dense_query())->bests, SizeIs(1));
  EXPECT_THAT(hub(kBoss)->ask(dense_query())->bests, SizeIs(1));
  EXPECT_THAT(get(kBob, "/v1/coverage").body, Not(HasSubstr("dense(")));
  EXPECT_THAT(get(kEve, "/v1/coverage").body, HasSubstr("dense("));
  EXPECT_THAT(get(kBoss, "/v1/export").body, HasSubstr("s-eve"));
}

TEST_F(HubFixture, NobodyWritesIntoAnothersSession) {
  start();
  ASSERT_TRUE(hub(kAnn)->push(one_session("s-1")).ok());
  const Status status = hub(kBob)->push(one_session("s-1", 0.1));
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << "of these rows alone: " << status;
  EXPECT_THAT(message_of(status), HasSubstr("another tenant's"));
}

TEST_F(HubFixture, RolesDecideWhoMayWhat) {
  start();
  const std::string query = db::team_query_json(dense_query());
  for (const auto& [token, ask, exported, remove] :
       {std::tuple{kAnn, 200, 403, 403}, std::tuple{kBoss, 200, 200, 200}, std::tuple{kLab, 403, 403, 403},
        std::tuple{std::string("wrong-0123456789abcdef"), 401, 401, 401}, std::tuple{std::string(), 401, 401, 401}}) {
    EXPECT_EQ(post(token, "/v1/ask", query).status, ask) << token;
    EXPECT_EQ(post(token, "/v1/push", "{\"hone_tophub\":1}\n").status, ask) << token;
    EXPECT_EQ(get(token, "/v1/misses").status, ask) << token;
    EXPECT_EQ(get(token, "/v1/coverage").status, ask) << token;
    EXPECT_EQ(get(token, "/v1/export").status, exported) << token;
    EXPECT_EQ(post(token, "/v1/remove", "{\"tenant\":\"tuner ann\"}").status, remove) << token;
    EXPECT_EQ(get(token, "/healthz").status, 200);
  }
  EXPECT_TRUE(absl::IsUnauthenticated(hub("wrong-0123456789abcdef")->ask(dense_query()).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(hub(kLab)->ask(dense_query()).status()));
  EXPECT_THAT(message_of(hub("wrong-0123456789abcdef")->ask(dense_query()).status()), Not(HasSubstr("wrong-0")));
}

// A page of another site can make a browser send a POST, but not with this header.
TEST_F(HubFixture, PostsOfOtherSitesAreRefused) {
  start(false);
  const auto answer = raw("")->send({.method = "POST", .path = "/v1/push", .body = "{\"hone_tophub\":1}\n"});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, 403);
}

TEST_F(HubFixture, AnOpenPortIsOneTenantAndRemovesNothing) {
  start(false);
  const auto anyone = hub("");
  ASSERT_TRUE(anyone->push(one_session("s-1")).ok());
  EXPECT_THAT(anyone->ask(dense_query())->bests, SizeIs(1));
  EXPECT_EQ(anyone->tenant(), "");
  EXPECT_EQ(post("", "/v1/remove", "{\"tenant\":\"\"}").status, 403);
}

TEST_F(HubFixture, AnAdminRemovesATenantsRows) {
  start();
  ASSERT_TRUE(hub(kAnn)->push(one_session("s-ann")).ok());
  EXPECT_THAT(post(kBoss, "/v1/remove", "{\"tenant\":\"tuner ann\"}").body, HasSubstr("\"trials\":1"));
  EXPECT_THAT(hub(kBob)->ask(dense_query())->bests, IsEmpty());
  EXPECT_EQ(post(kBoss, "/v1/remove", "nonsense").status, 400);
}

TEST_F(HubFixture, MissesAreCountedAndLookingIsNone) {
  start();
  const auto ann = hub(kAnn);
  ASSERT_TRUE(ann->ask(dense_query()).ok() && ann->ask(dense_query()).ok());
  const auto looked = post(kAnn, "/v1/covered", db::team_query_json(dense_query()));
  const Json covered = Json::parse(looked.body);
  EXPECT_EQ(covered["covered"], 0);
  EXPECT_EQ(covered["keys"], 1);
  EXPECT_EQ(covered["absent"][0][0], db::kDense);
  const auto misses = ann->misses("llvm", 10);
  ASSERT_TRUE(misses.ok()) << misses.status();
  ASSERT_THAT(*misses, SizeIs(1));
  EXPECT_EQ(misses->at(0).count, 2);
  EXPECT_EQ(misses->at(0).last, kNow) << "the service's clock";
  ASSERT_TRUE(ann->push(one_session("s")).ok());
  EXPECT_EQ(Json::parse(post(kAnn, "/v1/covered", db::team_query_json(dense_query())).body)["covered"], 1);
}

TEST_F(HubFixture, PriorsAreBroughtAndAskedFor) {
  start();
  const auto ann = hub(kAnn);
  const db::PriorRow prior = db::sample_prior();
  EXPECT_EQ(ann->prior(prior.target_kind, prior.schema)->has_value(), false);
  ASSERT_TRUE(ann->push({.priors = {prior}}).ok());
  const auto got = ann->prior(prior.target_kind, prior.schema);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(**got, prior);
  EXPECT_EQ(get(kAnn, "/v1/prior").status, 400);
}

TEST_F(HubFixture, LargePushesGoInParts) {
  start();
  db::RecordSet records;
  for (int i = 0; i < 40; ++i) {
    db::TrialRow trial = db::ok_trial(i, 0.5 + i);
    trial.features = std::string(300'000, 'x');
    records.trials.push_back(trial);
  }
  ASSERT_TRUE(hub(kAnn)->push(records).ok());
  EXPECT_GE(store_.calls, 3);
  EXPECT_EQ(hub(kAnn)->ask(dense_query())->bests.at(0).trials, 40);
}

TEST_F(HubFixture, ExportsAreReadBack) {
  start();
  ASSERT_TRUE(hub(kAnn)->push(one_session("s-ann")).ok());
  ASSERT_TRUE(hub(kBob)->push({.priors = {db::sample_prior()}}).ok());
  const auto answer = get(kBoss, "/v1/export");
  const auto records = db::parse_records(answer.body, "export");
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_THAT(records->trials, SizeIs(1));
  EXPECT_THAT(records->priors, SizeIs(1));
  EXPECT_THAT(answer.body, testing::StartsWith("{\"hone_tophub\":2}"));
  size_t left = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path()))
    left += file.path().filename().string().find("hone-export") == 0;
  EXPECT_EQ(left, 0U) << "no file stays behind";
}

TEST_F(HubFixture, RowsThatLieAreRefusedWithTheirLine) {
  start();
  db::RecordSet records = one_session("s");
  records.trials[0].times = {1e-12};
  records.trials[0].seconds = 1e-12;
  const Status status = hub(kAnn)->push(records);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(message_of(status), HasSubstr("push line 3: trial"));
  EXPECT_THAT(hub(kAnn)->ask(dense_query())->bests, IsEmpty()) << "all or nothing";
}

TEST_F(HubFixture, BodiesHaveLimits) {
  start();
  EXPECT_EQ(post(kAnn, "/v1/push", std::string(kMostPushBytes + 1, 'x')).status, 413);
  EXPECT_EQ(post(kAnn, "/v1/ask", std::string(kMostAskBytes + 1, 'x')).status, 413);
  EXPECT_EQ(post(kBoss, "/v1/remove", std::string(2000, 'x')).status, 413);
  EXPECT_EQ(post("wrong-0123456789abcdef", "/v1/push", std::string(kMostPushBytes, 'x')).status, 401)
      << "told before the body is read";
  EXPECT_EQ(store_.calls, 0);
}

TEST_F(HubFixture, AStoreThatDoesNotAnswerIsUnavailable) {
  start();
  store_.break_with(absl::UnavailableError("the database does not answer: its disk is full"));
  http::ClientOptions options{.credentials = {.token = kAnn}, .timeout = 300ms};
  HubClient client(http::HttpClient::make(http::Url::parse(url_).value(), options).value());
  const Status status = client.push(one_session("s"));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(message_of(status), HasSubstr("disk is full"));
  store_.break_with(absl::InternalError("bug"));
  EXPECT_EQ(get(kAnn, "/v1/misses").status, 500);
  store_.break_with(absl::OkStatus());
  EXPECT_TRUE(client.push(one_session("s")).ok());
}

TEST_F(HubFixture, OneTenantDoesNotTakeAllPlaces) {
  start(true, false, {.workers = 8, .in_flight = 6, .per_tenant = 3});
  std::promise<void> go;
  const auto gone = go.get_future().share();
  std::atomic<int> inside{0};
  store_.before = [&] { ++inside, gone.wait(); };
  std::vector<std::future<int>> asked;
  for (int i = 0; i < 3; ++i)
    asked.push_back(std::async(std::launch::async, [&] { return get(kAnn, "/v1/misses").status; }));
  while (inside < 3) std::this_thread::sleep_for(1ms);
  const auto beyond =
      raw(kAnn)->send({.method = "POST", .path = "/v1/ask", .body = "{}", .headers = {{"X-Hone", "1"}}});
  EXPECT_EQ(beyond->status, 429);
  EXPECT_THAT(beyond->body, HasSubstr("tuner ann"));
  asked.push_back(std::async(std::launch::async, [&] { return get(kBob, "/v1/misses").status; }));
  while (inside < 4) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(get("", "/healthz").status, 200) << "pages that do not block go on";
  go.set_value();
  for (auto& one : asked) EXPECT_EQ(one.get(), 200);
  EXPECT_EQ(get(kAnn, "/v1/misses").status, 200) << "places come back";
}

TEST_F(HubFixture, WhatIsBeingAnsweredIsWaitedForAtTheEnd) {
  start();
  store_.before = [] { std::this_thread::sleep_for(200ms); };
  auto pushed = std::async(std::launch::async, [&] { return hub(kAnn)->push(one_session("s")); });
  while (store_.calls == 0) std::this_thread::sleep_for(1ms);
  server_->drain(5s);
  server_.reset();
  EXPECT_TRUE(pushed.get().ok()) << "an answer that was earned is told";
}

TEST_F(HubFixture, MetricsAndWhoami) {
  start();
  ASSERT_TRUE(hub(kAnn)->push(one_session("s")).ok());
  ASSERT_TRUE(hub(kAnn)->ask(dense_query()).ok());
  const std::string text = get(kAnn, "/metrics").body;
  EXPECT_THAT(text, HasSubstr("hone_tophub_requests_total{page=\"push\",status=\"200\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("hone_tophub_keys_found_total 1\n"));
  EXPECT_THAT(text, HasSubstr("hone_rejected_total{reason=\"bad_token\"} 0\n"));
  const Json who = Json::parse(get(kEve, "/v1/whoami").body);
  EXPECT_EQ(who["tenant"], "tuner eve");
  EXPECT_EQ(who["hides_rows"], true);
}

TEST_F(HubFixture, TheClientsCaIsPinned) {
  start(true, true);
  write("ca", gate::make_ca("another").value().certificate);
  const Status status = hub(kAnn)->ask(dense_query()).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(message_of(status), HasSubstr("certificate is not accepted"));
  // The system's CAs did not sign it, either.
  write("token-of-client", kAnn + "\n");
  const auto plain = open_hub(url_, {.ca = "", .token = path("token-of-client")}, false);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(absl::IsUnavailable((*plain)->ask(dense_query()).status()));
}

TEST_F(HubFixture, AddressesAndFilesThatCannotBeUsed) {
  start();
  for (const auto& [url, why] :
       {std::pair{"lab:9200", "--tophub 'lab:9200' is no URL; expected https://"},
        std::pair{"http://lab.example:9200", "--tophub http://lab.example:9200 is not encrypted"},
        std::pair{"https://a:secret@lab", "--token-file"}}) {
    const auto made = open_hub(url, {}, false);
    EXPECT_TRUE(absl::IsInvalidArgument(made.status()));
    EXPECT_THAT(message_of(made.status()), HasSubstr(why));
    EXPECT_THAT(message_of(made.status()), Not(HasSubstr("secret@")));
  }
}

// Requests that are almost right: every one is answered with a line, and the service goes on.
TEST_F(HubFixture, MutatedRequestsAreAnswered) {
  start();
  const auto client = raw(kAnn);
  std::minstd_rand random(7);
  std::ostringstream lines;
  db::write_records(one_session("s"), lines);
  const std::string push = lines.str(), ask = db::team_query_json(dense_query());
  std::map<int, int> statuses;
  for (int i = 0; i < 400; ++i) {
    const bool pushes = i % 2 == 0;
    std::string body = pushes ? push : ask;
    for (int change = 0; change < 1 + i % 4; ++change) {
      const size_t at = random() % body.size();
      switch (random() % 4) {
        case 0: body[at] = static_cast<char>(random() % 256); break;
        case 1: body.erase(at, random() % 20); break;
        case 2: body.insert(at, body.substr(random() % body.size(), random() % 30)); break;
        default: body.resize(at + 1);
      }
    }
    const auto answer = client->send(
        {.method = "POST", .path = pushes ? "/v1/push" : "/v1/ask", .body = body, .headers = {{"X-Hone", "1"}}});
    ASSERT_TRUE(answer.ok()) << answer.status() << body;
    ASSERT_TRUE(answer->status == 200 || answer->status == 400) << answer->status << body;
    ASSERT_TRUE(Json::parse(answer->body).is_object()) << answer->body;
    EXPECT_EQ(answer->body.find('\n'), std::string::npos);
    ++statuses[answer->status];
  }
  EXPECT_GT(statuses[400], 100);
  EXPECT_TRUE(hub(kAnn)->push(one_session("s-after")).ok());
}

}  // namespace
}  // namespace hone::hub
