#include "rpc/http/http.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sys/stat.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <fstream>

#include "base/log.h"
#include "rpc/gate/certificates.h"
#include "rpc/gate/probe_slots.h"
#include "rpc/wire/session_client.h"
#include "tests/fakes/temporary_folder.h"
#include "tracker/routes.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

int connect_to(uint16_t port, const std::string& from = "127.0.0.1") {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  inet_pton(AF_INET, from.c_str(), &own.sin_addr);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0) << from;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

// Sends `request` as it is and reads until the server closes.
std::string talk(uint16_t port, const std::string& request, const std::string& from = "127.0.0.1") {
  const int fd = connect_to(port, from);
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

std::string get(uint16_t port, const std::string& path, const std::string& host = "localhost",
                const std::string& verb = "GET", const std::string& from = "127.0.0.1") {
  return talk(port, verb + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n", from);
}

/// Connections that have begun a request and go no further; one that the server closes is not opened again.
class SlowConnections {
 public:
  ~SlowConnections() {
    for (const int fd : fds_) close(fd);
  }
  void add(uint16_t port, const std::string& from, int times) {
    for (int i = 0; i < times; ++i) {
      fds_.push_back(connect_to(port, from));
      send(fds_.back(), "GET /hea", 8, MSG_NOSIGNAL);
    }
  }

 private:
  std::vector<int> fds_;
};

class Http : public testing::Test {
 protected:
  Http() {
    auto server = http::HttpServer::start(wire::Address::parse("127.0.0.1:0").value(),
                                          {{"/healthz",
                                            [](const http::HttpRequest&) {
                                              return http::HttpReply{"text/plain", "ok\n"};
                                            }}},
                                          clock_, {}, {.timeout = 300ms, .connections = 4});
    EXPECT_TRUE(server.ok());
    server_ = std::move(*server);
    port_ = server_->address().port;
  }
  const SteadyClock clock_;
  std::unique_ptr<http::HttpServer> server_;
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
  EXPECT_THAT(talk(port_, "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 421"))
      << "no Host at all";
}

TEST_F(Http, LimitsTheRequestsSize) {
  EXPECT_THAT(get(port_, "/" + std::string(20000, 'x')), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(talk(port_, "POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"),
              StartsWith("HTTP/1.1 405"))
      << "no body is read for a page that is not there";
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
  const auto again = http::HttpServer::start(server_->address(), {}, clock_);
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(message_of(again.status()), HasSubstr(server_->address().text()));
}

TEST_F(Http, OneAddressDoesNotTakeAllConnections) {
  const auto server = http::HttpServer::start(wire::Address::parse("127.0.0.1:0").value(), {}, clock_, {},
                                              {.timeout = 60s, .connections = 100, .per_peer = 2})
                          .value();
  const int first = connect_to(server->address().port), second = connect_to(server->address().port);
  ASSERT_GT(send(first, "GET", 3, MSG_NOSIGNAL), 0);
  EXPECT_THAT(get(server->address().port, "/"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(get(server->address().port, "/", "localhost", "GET", "127.0.0.2"), StartsWith("HTTP/1.1 404"))
      << "another address";
  close(first);
  close(second);
}

// Kubelets and load balancers kill a tracker that does not answer, and may share an address with a client that fills
// it.
TEST(HttpProbes, AreAnsweredHoweverManyConnectionsAreTakenByWhomever) {
  const SteadyClock clock;
  const auto rejections = std::make_shared<gate::Rejections>(clock, [](const gate::Rejections::Line&) {});
  gate::Security security;
  security.rejections = rejections;
  const http::HttpPages pages = {{"/healthz",
                                  [](const http::HttpRequest&) {
                                    return http::HttpReply{"text/plain", "ok\n"};
                                  }},
                                 {"/", [](const http::HttpRequest&) {
                                    return http::HttpReply{"text/plain", "page\n"};
                                  }}};
  const auto server = http::HttpServer::start(wire::Address::parse("127.0.0.1:0").value(), pages, clock, security,
                                              {.timeout = 600s, .probe_timeout = 600s})
                          .value();
  const uint16_t port = server->address().port;
  const auto probe = [&](const std::string& from) { return get(port, "/healthz", "localhost", "GET", from); };
  SlowConnections slow;
  slow.add(port, "127.0.0.1", 64);
  EXPECT_THAT(get(port, "/"), StartsWith("HTTP/1.1 503")) << "its share is taken";
  EXPECT_GE(rejections->counts().at("peer_connections"), 1u);
  for (int i = 0; i < 300; ++i) {
    slow.add(port, "127.0.0.1", 1);
    if (i % 20 == 0) {
      EXPECT_THAT(probe("127.0.0.1"), StartsWith("HTTP/1.1 200")) << i << ": from the same address";
    }
  }
  EXPECT_THAT(get(port, "/", "localhost", "GET", "127.0.0.9"), StartsWith("HTTP/1.1 200"))
      << "one address fills its share only";
  for (int peer = 2; peer < 30; ++peer) {
    slow.add(port, "127.0.0." + std::to_string(peer), 64);
    EXPECT_THAT(probe("127.0.0.99"), StartsWith("HTTP/1.1 200")) << peer;
    EXPECT_THAT(probe("127.0.0.1"), StartsWith("HTTP/1.1 200")) << peer;
  }
  EXPECT_THAT(get(port, "/", "localhost", "GET", "127.0.0.99"), StartsWith("HTTP/1.1 503")) << "all are taken";
  EXPECT_GE(rejections->counts().at("connections"), 1u);
}

TEST(HttpProbes, HaveAShortTime) {
  const SteadyClock clock;
  const auto server = http::HttpServer::start(wire::Address::parse("127.0.0.1:0").value(), {}, clock, {},
                                              {.timeout = 600s, .per_peer = 1, .probe_timeout = 100ms})
                          .value();
  SlowConnections slow;
  slow.add(server->address().port, "127.0.0.1", 1);
  const int late = connect_to(server->address().port);
  char byte;
  EXPECT_LE(read(late, &byte, 1), 0) << "closed, although a request has 600 s";
  close(late);
}

TEST(ProbeSlots, TheOldestOfTheGreediestAddressLeavesForANewcomer) {
  gate::ProbeSlots slots;
  std::vector<std::string> left;
  const auto enter = [&](const std::string& peer, const std::string& name) {
    return slots.enter(peer, 4, 3, [&left, name] { left.push_back(name); });
  };
  enter("a", "a1");
  const auto a2 = enter("a", "a2");
  const auto b1 = enter("b", "b1");
  enter("a", "a3");
  EXPECT_THAT(left, testing::IsEmpty());
  enter("a", "a4");
  EXPECT_THAT(left, testing::ElementsAre("a1")) << "its address has no more than three";
  enter("c", "c1");
  EXPECT_THAT(left, testing::ElementsAre("a1", "a2")) << "there are no more than four";
  slots.leave(a2);
  EXPECT_EQ(slots.size(), 4u) << "it had left already";
  slots.leave(b1);
  EXPECT_EQ(slots.size(), 3u);
  enter("d", "d1");
  EXPECT_EQ(left.size(), 2u);
  enter("e", "e1"), enter("f", "f1");
  EXPECT_THAT(left, testing::ElementsAre("a1", "a2", "a3", "a4"))
      << "the greediest; among equals the one that came first";
}

/// The tracker's pages, guarded by tokens.
class GuardedHttp : public testing::Test {
 protected:
  GuardedHttp() {
    spdlog::set_level(spdlog::level::off);
    write("tokens", "admin boss " + kAdmin + "\ntuner * " + kTuner + "\n");
    write("tracker.pem", certificate_.certificate);
    write("tracker.key", certificate_.key);
    write("ca.pem", ca_.certificate);
    tracker_ = TrackerServer::start(wire::Address::parse("unix:" + path("sock")).value(), {}, clock_).value();
  }
  ~GuardedHttp() override { tracker_->stop(); }
  void start(bool tokens, bool tls, bool certificates = false) {
    gate::Security security;
    if (tls) security.tls = {path("tracker.pem"), path("tracker.key"), certificates ? path("ca.pem") : ""};
    security.authority = gate::Authority::make({tokens ? path("tokens") : "", certificates}, clock_).value();
    security.rejections = rejections_;
    server_ =
        http::HttpServer::start(wire::Address::parse("127.0.0.1:0").value(), http_pages(*tracker_), clock_, security)
            .value();
    port_ = server_->address().port;
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    chmod(path(name).c_str(), 0600);
  }
  std::string request(const std::string& line, const std::string& headers, const std::string& body = "") const {
    return line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers +
           (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" + body;
  }
  std::string ask(const std::string& page, const std::string& token) const {
    return talk(port_, request("GET " + page, token.empty() ? "" : "Authorization: Bearer " + token + "\r\n"));
  }
  std::string administer(const std::string& headers,
                         const std::string& body = R"({"action": "drain", "name": "lab1/cpu"})") const {
    return talk(port_, request("POST /api/admin", headers, body));
  }
  // The answer for `page`, to an admin with a token or, with `client`, with this certificate; as far as the connection
  // got.
  std::string over_tls(const std::string& host, const std::string& page = "/api/whoami",
                       const gate::KeyPair* client = nullptr) const {
    namespace asio = boost::asio;
    asio::io_context io;
    asio::ssl::context context(asio::ssl::context::tls_client);
    context.set_verify_mode(asio::ssl::verify_peer);
    context.add_certificate_authority(asio::buffer(ca_.certificate));
    if (client) {
      context.use_certificate(asio::buffer(client->certificate), asio::ssl::context::pem);
      context.use_private_key(asio::buffer(client->key), asio::ssl::context::pem);
    }
    asio::ssl::stream<asio::ip::tcp::socket> stream(io, context);
    stream.lowest_layer().connect({asio::ip::make_address("127.0.0.1"), port_});
    boost::system::error_code end;
    stream.handshake(asio::ssl::stream_base::client, end);
    asio::write(stream,
                asio::buffer("GET " + page + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n" +
                             (client ? "" : as_admin_) + "\r\n"),
                end);
    std::string reply;
    asio::read(stream, asio::dynamic_buffer(reply), end);
    return reply;
  }
  static inline const std::string kAdmin = std::string(32, 'a'), kTuner = std::string(32, 't');
  const std::string as_admin_ = "Authorization: Bearer " + kAdmin + "\r\n", own_page_ = "X-Hone: 1\r\n";

  const SteadyClock clock_;
  TemporaryFolder folder_;
  const gate::KeyPair ca_ = gate::make_ca("a test").value();
  const gate::KeyPair certificate_ =
      gate::make_certificate(ca_, {"tracker", "", {"lab.example", "127.0.0.1"}, true}).value();
  const std::shared_ptr<gate::Rejections> rejections_ = std::make_shared<gate::Rejections>(clock_);
  std::unique_ptr<TrackerServer> tracker_;
  std::unique_ptr<http::HttpServer> server_;
  uint16_t port_ = 0;
};

TEST_F(GuardedHttp, EveryPageButTheProbeWantsAToken) {
  start(true, false);
  for (const char* page : {"/", "/metrics", "/api/state", "/api/whoami", "/nothing"}) {
    const std::string reply = ask(page, "");
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 401")) << page;
    EXPECT_THAT(reply, HasSubstr("WWW-Authenticate: Basic"));
    EXPECT_THAT(ask(page, std::string(32, 'x')), StartsWith("HTTP/1.1 401")) << page;
  }
  EXPECT_EQ(rejections_->counts().at("no_token"), 5u);
  EXPECT_EQ(rejections_->counts().at("bad_token"), 5u);
  EXPECT_THAT(ask("/healthz", ""), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("/api/state", kTuner), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("/api/whoami", kTuner), HasSubstr(R"({"role":"tuner"})"));
  EXPECT_THAT(ask("/api/whoami", kAdmin), HasSubstr(R"({"role":"admin"})"));
  // anyone:aaaa…, as a browser sends it
  EXPECT_THAT(talk(port_, request("GET /api/whoami",
                                  "Authorization: Basic YW55b25lOmFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh\r\n")),
              HasSubstr(R"({"role":"admin"})"));
}

TEST_F(GuardedHttp, AModelIsShownToItsOwnTokenAndAdministratorsAlone) {
  start(true, false);
  wire::SessionOpen open;
  open.session = wire::Uuid::random();
  open.title = "model secret.onnx";
  wire::SessionClient alice({tracker_->address()}, open, {});  // of no token, where these pages ask for one
  ASSERT_TRUE(alice.wait_open(std::chrono::seconds(60)).ok());
  const std::string one = "/api/session?id=" + tracker_->status().sessions.at(0).id;
  for (const std::string& page : {std::string("/api/state"), one}) {
    EXPECT_THAT(ask(page, kAdmin), HasSubstr("model secret.onnx")) << page;
    const std::string seen = ask(page, kTuner);
    EXPECT_THAT(seen, StartsWith("HTTP/1.1 200")) << page;
    EXPECT_THAT(seen, HasSubstr(R"("withheld":true)")) << page;
    EXPECT_THAT(seen, testing::Not(HasSubstr("secret"))) << page;
  }
  EXPECT_THAT(ask("/metrics", kTuner), testing::Not(HasSubstr("secret")));
}

TEST_F(GuardedHttp, AdminWantsTheRoleAndTheHeader) {
  start(true, false);
  EXPECT_THAT(administer(own_page_), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(administer(as_admin_), StartsWith("HTTP/1.1 403")) << "a form on another site cannot send the header";
  EXPECT_THAT(administer(own_page_ + "Authorization: Bearer " + kTuner + "\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_EQ(rejections_->counts().at("wrong_role"), 1u);
  EXPECT_EQ(rejections_->counts().at("bad_request"), 1u);
  const std::string nobody = administer(as_admin_ + own_page_);
  EXPECT_THAT(nobody, StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(nobody, HasSubstr(R"({"error":"no device or agent)"));
  for (const char* bad : {"{}", "not json", "[]", R"({"action": "drain"})", R"({"action": 1, "name": 2})",
                          R"({"action": "explode", "name": "x"})"})
    EXPECT_THAT(administer(as_admin_ + own_page_, bad), StartsWith("HTTP/1.1 400")) << bad;
  EXPECT_THAT(talk(port_, request("GET /api/admin", as_admin_)), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(talk(port_, request("POST /api/state", as_admin_ + own_page_)), StartsWith("HTTP/1.1 405"));
}

TEST_F(GuardedHttp, AnOpenPortChangesNothing) {
  start(false, false);
  EXPECT_THAT(ask("/api/whoami", ""), HasSubstr(R"({"role":"open"})"));
  EXPECT_THAT(administer(own_page_), StartsWith("HTTP/1.1 403"));
}

TEST_F(GuardedHttp, AHostileHostHeaderIsRefusedAndCounted) {
  start(true, false);
  EXPECT_THAT(
      talk(port_, "GET /api/state HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n" + as_admin_ + "\r\n"),
      StartsWith("HTTP/1.1 421"));
  EXPECT_EQ(rejections_->counts().at("host"), 1u);
}

TEST_F(GuardedHttp, SpeaksTlsAndServesTheCertificatesNames) {
  start(true, true);
  EXPECT_THAT(over_tls("localhost"), HasSubstr("admin"));
  EXPECT_THAT(over_tls("lab.example:9191"), HasSubstr("admin"));
  EXPECT_THAT(over_tls("evil.example"), StartsWith("HTTP/1.1 421"));
  EXPECT_EQ(talk(port_, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").find("HTTP/1.1 200"), std::string::npos)
      << "plaintext";
}

TEST_F(GuardedHttp, ProbesOverTlsAreAnsweredBesideConnectionsThatSayNothing) {
  start(true, true);
  std::vector<int> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(connect_to(port_));
  EXPECT_THAT(over_tls("localhost", "/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(over_tls("localhost", "/api/whoami"), StartsWith("HTTP/1.1 503"));
  for (const int fd : silent) close(fd);
}

TEST_F(GuardedHttp, WithCertificatesAloneABrowserShowsOne) {
  start(false, true, true);
  const gate::KeyPair lab1 = gate::make_certificate(ca_, {"lab1", "agent"}).value(),
                      nobody = gate::make_certificate(ca_, {"lab1", ""}).value();
  const gate::KeyPair foreign = gate::make_certificate(gate::make_ca("another").value(), {"boss", "admin"}).value();
  EXPECT_THAT(over_tls("localhost"), StartsWith("HTTP/1.1 401")) << "a token is none";
  EXPECT_THAT(over_tls("localhost", "/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(over_tls("localhost", "/api/whoami", &lab1), HasSubstr(R"({"role":"agent"})"));
  EXPECT_THAT(over_tls("localhost", "/api/whoami", &nobody), StartsWith("HTTP/1.1 401")) << "its O names no role";
  EXPECT_EQ(over_tls("localhost", "/api/whoami", &foreign), "") << "signed by another CA";
}

TEST(ParseQuery, DecodesPairsAndLeavesOutWhatIsMalformed) {
  using Query = std::map<std::string, std::string>;
  EXPECT_EQ(http::parse_query("key=lab1%2Fcpu&x=a+b&x=second"), (Query{{"key", "lab1/cpu"}, {"x", "a b"}}));
  EXPECT_EQ(http::parse_query("&&none&bad=%4&worse=%zz&signed=%-1&end=%&ok="), (Query{{"ok", ""}}));
}

TEST(HostAllowed, LoopbackTheListenedHostAndAddressesOfAWildcard) {
  const auto local = wire::Address::parse("127.0.0.1:9191").value();
  for (const char* host : {"localhost", "localhost:9191", "127.0.0.1:1", "[::1]:9191", "[::1]"})
    EXPECT_TRUE(http::host_allowed(host, local)) << host;
  for (const char* host : {"", "evil.example", "127.0.0.1.evil.example", "10.0.0.1", "localhost:x"})
    EXPECT_FALSE(http::host_allowed(host, local)) << host;
  EXPECT_TRUE(http::host_allowed("board.lan:9191", wire::Address::parse("board.lan:9191").value()));
  const auto any = wire::Address::parse("0.0.0.0:9191").value();
  EXPECT_TRUE(http::host_allowed("10.0.0.1:9191", any));
  EXPECT_FALSE(http::host_allowed("evil.example", any));
}

}  // namespace
}  // namespace hone::tracker
