#include "tracker/http.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "tests/fakes/fake_fleet.h"
#include "tracker/pages.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

int connect_to(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

// Sends `request` as it is and reads until the server closes.
std::string talk(uint16_t port, const std::string& request) {
  const int fd = connect_to(port);
  size_t sent = 0;
  while (sent < request.size()) {
    const ssize_t n = send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<size_t>(n);
  }
  std::string reply;
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof(buffer))) > 0;) reply.append(buffer, static_cast<size_t>(n));
  close(fd);
  return reply;
}

std::string get(uint16_t port, const std::string& path, const std::string& host = "localhost", const std::string& verb = "GET") {
  return talk(port, verb + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
}

class Http : public testing::Test {
 protected:
  Http() {
    auto server = HttpServer::start(wire::Address::parse("127.0.0.1:0").value(),
                                    {{"/healthz", [](const HttpRequest&) { return HttpReply{"text/plain", "ok\n"}; }}}, {.timeout = 300ms, .connections = 4});
    EXPECT_TRUE(server.ok());
    server_ = std::move(*server);
    port_ = server_->address().port;
  }
  std::unique_ptr<HttpServer> server_;
  uint16_t port_ = 0;
};

TEST_F(Http, AnswersGetAndHead) {
  const std::string reply = get(port_, "/healthz?x=1");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(reply, HasSubstr("\r\n\r\nok\n"));
  EXPECT_THAT(reply, HasSubstr("nosniff"));
  const std::string head = get(port_, "/healthz", "localhost", "HEAD");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(head, testing::EndsWith("\r\n\r\n"));
}

TEST_F(Http, RefusesOtherVerbsPathsAndHosts) {
  EXPECT_THAT(get(port_, "/healthz", "localhost", "POST"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(get(port_, "/healthz", "localhost", "DELETE"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(get(port_, "/../etc/passwd"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get(port_, "/healthz", "evil.example"), StartsWith("HTTP/1.1 421"));
  EXPECT_THAT(get(port_, "/healthz", "evil.example:9191"), StartsWith("HTTP/1.1 421"));
  EXPECT_THAT(talk(port_, "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 421")) << "no Host at all";
}

TEST_F(Http, LimitsTheRequestsSize) {
  EXPECT_THAT(get(port_, "/" + std::string(20000, 'x')), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(talk(port_, "POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(talk(port_, "not http at all\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST_F(Http, GivesUpOnSlowClientsAndStillServesOthers) {
  std::vector<int> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(connect_to(port_));
    ASSERT_GT(send(slow.back(), "GET", 3, MSG_NOSIGNAL), 0);
  }
  char byte;
  for (const int fd : slow) {
    EXPECT_LE(read(fd, &byte, 1), 0) << "closed after the timeout";
    close(fd);
  }
  EXPECT_THAT(get(port_, "/healthz"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Http, ATakenPortIsOneLine) {
  const auto again = HttpServer::start(server_->address(), {});
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(message_of(again.status()), HasSubstr(server_->address().text()));
}

TEST(ParseQuery, DecodesPairsAndLeavesOutWhatIsMalformed) {
  using Query = std::map<std::string, std::string>;
  EXPECT_EQ(parse_query("key=lab1%2Fcpu&x=a+b&x=second"), (Query{{"key", "lab1/cpu"}, {"x", "a b"}}));
  EXPECT_EQ(parse_query("&&none&bad=%4&worse=%zz&end=%&ok="), (Query{{"ok", ""}}));
}

TEST(HostAllowed, LoopbackTheListenedHostAndAddressesOfAWildcard) {
  const auto local = wire::Address::parse("127.0.0.1:9191").value();
  for (const char* host : {"localhost", "localhost:9191", "127.0.0.1:1", "[::1]:9191", "[::1]"}) EXPECT_TRUE(host_allowed(host, local)) << host;
  for (const char* host : {"", "evil.example", "127.0.0.1.evil.example", "10.0.0.1", "localhost:x"}) EXPECT_FALSE(host_allowed(host, local)) << host;
  EXPECT_TRUE(host_allowed("board.lan:9191", wire::Address::parse("board.lan:9191").value()));
  const auto any = wire::Address::parse("0.0.0.0:9191").value();
  EXPECT_TRUE(host_allowed("10.0.0.1:9191", any));
  EXPECT_FALSE(host_allowed("evil.example", any));
}

TEST(Pages, ShowWhatTheTrackerHas) {
  Fleet fleet;
  const auto agent = fleet.agent("a", 1);
  wire::SessionOpen open;
  open.session = wire::Uuid::random();
  open.title = "<script>alert(1)</script>";
  const auto session = fleet.open_as(open);
  fleet.submit(session, 1, 2);
  fleet.finish(agent, fleet.leases(agent).at(0));
  const auto status = fleet.tracker->status();
  const std::string metrics = metrics_page(status, fleet.tracker->counts());
  EXPECT_THAT(metrics, HasSubstr("hone_devices{state=\"idle\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("hone_results_total{status=\"ok\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("hone_queued_jobs{session=\"" + open.session.text() + "\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("hone_lease_latency_seconds_bucket{le=\"+Inf\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("hone_lease_latency_seconds_count 1"));
  const Json state = Json::parse(state_json(status));
  EXPECT_EQ(state["devices"][0]["key"], "a/cpu");
  EXPECT_EQ(state["sessions"][0]["queued"], 1);
  EXPECT_EQ(state["results"]["ok"], 1);
  EXPECT_EQ(state["queue"]["queued"], 1);
  EXPECT_THAT(state_text(status), HasSubstr("a/cpu"));
}

}  // namespace
}  // namespace hone::tracker
