// The client against servers that are slow, half, huge, wrong or gone.
#include "rpc/http/http_client.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <future>

#include "base/clock.h"
#include "rpc/http/http.h"
#include "tests/fakes/scripted_server.h"

namespace hone::http {
namespace {

using fakes::http_answer;
using fakes::ScriptedServer;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;
using Peer = ScriptedServer::Peer;

constexpr char kToken[] = "0123456789abcdef-a-token-that-is-a-secret";

std::unique_ptr<HttpClient> client_of(const std::string& url, ClientOptions options = {}) {
  auto made = HttpClient::make(Url::parse(url).value(), std::move(options));
  EXPECT_TRUE(made.ok()) << made.status();
  return std::move(made).value();
}

ClientOptions quick() { return {.credentials = {.token = kToken}, .connect_timeout = 300ms, .timeout = 300ms}; }

// One line that names the server and no secret.
void expect_unavailable(const Status& status, const std::string& url, const std::string& why = "") {
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(message_of(status), testing::StartsWith(url + ": "));
  EXPECT_THAT(message_of(status), HasSubstr(why));
  EXPECT_THAT(message_of(status), Not(HasSubstr("\n")));
  EXPECT_THAT(message_of(status), Not(HasSubstr(kToken)));
}

TEST(HttpClient, AsksAndKeepsTheConnection) {
  std::atomic<int> connections{0};
  ScriptedServer server(
      [&](const Peer& peer) { return peer.say(http_answer("hello", "200 OK", "X-One: 1\r\n")), true; });
  const auto client = client_of(server.url() + "/base", quick());
  for (int i = 0; i < 3; ++i) {
    const auto answer = client->send({.path = "/page?x=1", .headers = {{"X-Two", "2"}}});
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "hello");
    EXPECT_EQ(answer->headers.at("x-one"), "1");
  }
  const std::string head = server.heads().at(0);
  EXPECT_THAT(head, testing::StartsWith("GET /base/page?x=1 HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr(std::string("Authorization: Bearer ") + kToken));
  EXPECT_THAT(head, HasSubstr("X-Two: 2"));
  EXPECT_THAT(head, HasSubstr("Host: 127.0.0.1:"));
}

TEST(HttpClient, AConnectionThatWasClosedMeanwhileIsMadeAnew) {
  ScriptedServer server([&](const Peer& peer) { return peer.say(http_answer("hello")), false; });
  const auto client = client_of(server.url(), quick());
  for (int i = 0; i < 3; ++i) {
    const auto answer = client->send({.method = "POST", .path = "/x", .body = "b", .repeatable = true});
    ASSERT_TRUE(answer.ok()) << answer.status();
  }
  EXPECT_EQ(server.heads().size(), 3U);
}

TEST(HttpClient, WhatMayNotBeRepeatedIsSentOnce) {
  std::atomic<int> asked{0};
  ScriptedServer server([&](const Peer& peer) {
    if (++asked == 1) return peer.say(http_answer("hello")), true;
    return false;  // closes without a word
  });
  const auto client = client_of(server.url(), quick());
  ASSERT_TRUE(client->send({.method = "POST", .path = "/x"}).ok());
  expect_unavailable(client->send({.method = "POST", .path = "/x"}).status(), server.url(), "closed the connection");
  EXPECT_EQ(asked, 2);
}

TEST(HttpClient, ABusyServerIsAskedAgainWhileThereIsTime) {
  std::atomic<int> asked{0};
  ScriptedServer server([&](const Peer& peer) {
    peer.say(++asked < 3 ? http_answer("busy", "503 Busy") : http_answer("hello"));
    return true;
  });
  const auto client = client_of(server.url(), {.timeout = 5s});
  EXPECT_EQ(client->send({.path = "/"})->body, "hello");
  EXPECT_EQ(asked, 3);
  asked = 0;
  EXPECT_EQ(client->send({.method = "POST", .path = "/"})->status, 503) << "not to be repeated";
}

TEST(HttpClient, NobodyThere) {
  uint16_t port = 0;
  {
    port = ScriptedServer([](const Peer&) { return false; }).port();
  }
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  expect_unavailable(client_of(url, quick())->send({}).status(), url, "cannot connect");
  const std::string nowhere = "http://no-such-host.invalid:9";
  ClientOptions options = quick();
  options.insecure = true;
  expect_unavailable(client_of(nowhere, options)->send({}).status(), nowhere, "name");
}

TEST(HttpClient, SlowServersAreNotWaitedForLongerThanAllowed) {
  for (const std::string& begun : {std::string(), std::string("HTTP/1.1 200 OK\r\nContent-Le"),
                                   std::string("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it")}) {
    ScriptedServer server([&](const Peer& peer) { return peer.say(begun), peer.wait(10s), false; });
    const auto before = std::chrono::steady_clock::now();
    expect_unavailable(client_of(server.url(), quick())->send({}).status(), server.url(), "in time");
    EXPECT_LT(std::chrono::steady_clock::now() - before, 3s);
  }
}

// A byte now and then is no progress: the limit is one for the whole request.
TEST(HttpClient, DripsDoNotHoldARequestUp) {
  ScriptedServer server([&](const Peer& peer) {
    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    for (int i = 0; i < 1000 && !peer.ending; ++i) peer.say("x"), peer.wait(20ms);
    return false;
  });
  const auto before = std::chrono::steady_clock::now();
  expect_unavailable(client_of(server.url(), quick())->send({}).status(), server.url(), "in time");
  EXPECT_LT(std::chrono::steady_clock::now() - before, 3s);
}

TEST(HttpClient, HalfAnAnswerIsNone) {
  const std::string whole = http_answer("hello, this is all of it");
  for (size_t size = 0; size < whole.size(); size += 7) {
    ScriptedServer server([&](const Peer& peer) { return peer.say(whole.substr(0, size)), false; });
    expect_unavailable(client_of(server.url(), quick())->send({}).status(), server.url());
  }
}

TEST(HttpClient, NonsenseIsNoAnswer) {
  for (const std::string text :
       {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "\x16\x03\x01\x02\x00\x01",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"}) {
    ScriptedServer server([&](const Peer& peer) { return peer.say(text), false; });
    expect_unavailable(client_of(server.url(), quick())->send({}).status(), server.url());
  }
}

TEST(HttpClient, HugeAnswersAreCutOff) {
  for (const std::string& head :
       {std::string("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), std::string("HTTP/1.1 200 OK\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")}) {
    ScriptedServer server([&](const Peer& peer) {
      peer.say(head);
      for (int i = 0; i < 100 && !peer.ending; ++i)
        peer.say(head.find("chunked") != std::string::npos ? "400\r\n" + std::string(1024, 'x') + "\r\n"
                                                           : std::string(1024, 'x'));
      return false;
    });
    const auto answer = client_of(server.url(), {.timeout = 5s})->send({.most_bytes = 4096});
    EXPECT_TRUE(absl::IsResourceExhausted(answer.status())) << answer.status();
    EXPECT_THAT(message_of(answer.status()), HasSubstr("4096"));
  }
  ScriptedServer server(
      [&](const Peer& peer) { return peer.say("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x')), false; });
  expect_unavailable(client_of(server.url(), quick())->send({}).status(), server.url());
}

TEST(HttpClient, ASinkGetsTheBodyInPartsAndMayStopIt) {
  const std::string body(300'000, 'y');
  ScriptedServer server([&](const Peer& peer) { return peer.say(http_answer(body)), true; });
  const auto client = client_of(server.url(), {.timeout = 5s});
  std::string got;
  int parts = 0;
  const auto sink = [&](std::string_view part) { return got += part, ++parts, absl::OkStatus(); };
  const auto answer = client->send({.sink = sink});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(got, body);
  EXPECT_GT(parts, 1);
  EXPECT_EQ(answer->body, "");
  const auto stopped = client->send({.sink = [](std::string_view) { return absl::DataLossError("the disk is full"); }});
  EXPECT_TRUE(absl::IsDataLoss(stopped.status()));
}

TEST(HttpClient, RedirectionsAreFollowedAtTheSamePlaceOnly) {
  std::atomic<int> elsewhere{0};
  ScriptedServer other([&](const Peer& peer) { return ++elsewhere, peer.say(http_answer("stolen")), true; });
  std::string to = "/there";
  ScriptedServer server([&](const Peer& peer) {
    const bool there = peer.head.find("GET /there") == 0;
    return peer.say(there ? http_answer("arrived") : http_answer("", "302 Found", "Location: " + to + "\r\n")), true;
  });
  const auto client = client_of(server.url(), quick());
  EXPECT_EQ(client->send({})->body, "arrived");
  to = server.url() + "/there";
  EXPECT_EQ(client->send({})->body, "arrived");
  for (const std::string& place : {other.url() + "/there", "//127.0.0.1:" + std::to_string(other.port()) + "/there",
                                   std::string("https://127.0.0.1/x"), std::string("")}) {
    to = place;
    const auto answer = client->send({});
    EXPECT_TRUE(absl::IsFailedPrecondition(answer.status())) << place << ": " << answer.status();
  }
  EXPECT_EQ(elsewhere, 0) << "no token went there";
  to = "/again";
  EXPECT_THAT(message_of(client->send({}).status()), HasSubstr("without end"));
}

TEST(HttpClient, ARequestCannotBeTwo) {
  ScriptedServer server([&](const Peer& peer) { return peer.say(http_answer("hello")), true; });
  const auto client = client_of(server.url(), quick());
  EXPECT_TRUE(absl::IsInvalidArgument(client->send({.path = "/x HTTP/1.1\r\nX: y\r\n\r\n"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(client->send({.path = "no-slash"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(client->send({.headers = {{"X", "a\r\nY: b"}}}).status()));
  EXPECT_TRUE(server.heads().empty());
}

TEST(HttpClient, CredentialsDoNotGoUnencryptedToOtherHosts) {
  for (const std::string url : {"http://lab.example:9200", "http://192.0.2.7:9200"}) {
    const auto made = HttpClient::make(Url::parse(url).value(), quick());
    EXPECT_TRUE(absl::IsInvalidArgument(made.status()));
    EXPECT_THAT(message_of(made.status()), HasSubstr("https://"));
    ClientOptions options = quick();
    options.insecure = true;
    EXPECT_TRUE(HttpClient::make(Url::parse(url).value(), options).ok());
  }
}

TEST(HttpClient, ManyThreadsAskAtOnce) {
  const SteadyClock clock;
  HttpPage page([](const HttpRequest& request) { return HttpReply{"text/plain", request.body}; });
  page.may_block = page.open_too = true;
  page.most_body = 1 << 20;
  const auto server =
      HttpServer::start(wire::Address::parse("127.0.0.1:0").value(), {{"POST /echo", page}}, clock).value();
  const auto client = client_of("http://" + server->address().text(), {.timeout = 20s});
  std::vector<std::future<int>> threads;
  for (int t = 0; t < 8; ++t)
    threads.push_back(std::async(std::launch::async, [&, t] {
      int fine = 0;
      for (int i = 0; i < 50; ++i) {
        const std::string body(static_cast<size_t>(t * 1000 + i), 'a');
        const auto answer = client->send(
            {.method = "POST", .path = "/echo", .body = body, .headers = {{"X-Hone", "1"}}, .repeatable = true});
        fine += answer.ok() && answer->body == body;
      }
      return fine;
    }));
  for (auto& thread : threads) EXPECT_EQ(thread.get(), 50);
}

}  // namespace
}  // namespace hone::http
