// Input from people and their browsers: admin requests, HTTP, query strings, Host headers, token files.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "rpc/gate/tokens.h"
#include "rpc/http/http.h"
#include "rpc/wire/messages/convert.h"
#include "script.pb.h"
#include "tests/fuzz/wire/target.h"
#include "tests/fuzz/wire/world.h"
#include "tracker/pages.h"

namespace hone::fuzz {
namespace of_outside {
namespace {

constexpr size_t kMostAnswered = 1 << 20;

// libFuzzer's timer interrupts the system calls of the thread that it hits: here that would look like a server that
// does not answer. Meanwhile other threads are hit.
class Uninterrupted {
 public:
  Uninterrupted() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~Uninterrupted() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// The server's answer to these bytes, until nothing more comes; empty when it just closes.
std::string ask(uint16_t port, std::string_view bytes) {
  const Uninterrupted uninterrupted;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  HONE_ICHECK(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      << "the HTTP port takes no connection";
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;  // it has heard enough
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  shutdown(fd, SHUT_WR);
  std::string answer;
  char buffer[4096];
  for (ssize_t n; answer.size() < kMostAnswered && (n = recv(fd, buffer, sizeof buffer, 0)) > 0;)
    answer.append(buffer, static_cast<size_t>(n));
  const linger at_once{1, 0};  // no port is left waiting
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(fd);
  return answer;
}

// A server whose pages show their query.
http::HttpServer& http_server() {
  static auto* const server = [] {
    wire::Address address;
    address.host = "127.0.0.1";
    const auto page = [](const http::HttpRequest& request) {
      std::string text;
      for (const auto& [key, value] : request.query) text += key + "=" + value + "\n";
      return http::HttpReply{"text/plain", text, 200};
    };
    static const SteadyClock clock;
    auto started = http::HttpServer::start(address, {{"/", page}, {"/api/state", page}}, clock);
    HONE_ICHECK(started.ok()) << message_of(started.status());
    return started->release();
  }();
  return *server;
}

void check_http(std::string_view bytes) {
  const uint16_t port = http_server().address().port;
  const std::string answer = ask(port, bytes);
  HONE_ICHECK(answer.empty() || answer.starts_with("HTTP/1."))
      << "an answer that is not HTTP: " << answer.substr(0, 100);
  HONE_ICHECK(ask(port, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 200"))
      << "the HTTP port has stopped serving";
}

void check_admin(World& world, const proto::AdminRequest& request) {
  const auto line = world.tracker().admin(request.action(), request.name());
  const std::string text = wire::clean_line(line.ok() ? *line : message_of(line.status()), 4096);
  HONE_ICHECK(text.find('\n') == std::string::npos && !text.empty()) << "not a line: " << text;
}

// Refused with one line that does not show the text, or each entry is found by nothing but its token.
void check_tokens(const std::string& text) {
  const auto table = gate::TokenTable::parse(text);
  if (!table.ok()) {
    HONE_ICHECK(message_of(table.status()).find('\n') == std::string::npos)
        << "not a line: " << table.status().message();
    return;
  }
  HONE_ICHECK(table->size() > 0 && !table->find("") && !table->find("no such token, for certain"))
      << "a token that is not in the file was found";
}

void run(std::string_view bytes) {
  OutsideScript script;
  if (!script.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  World world;
  for (const OutsideStep& step : script.steps()) {
    switch (step.kind_case()) {
      case OutsideStep::kAdmin: check_admin(world, step.admin()); break;
      case OutsideStep::kHttp: check_http(step.http()); break;
      case OutsideStep::kQuery: (void)http::parse_query(step.query()); break;
      case OutsideStep::kHost: {
        wire::Address here;
        here.host = "127.0.0.1";
        if (!step.host().empty() && http::host_allowed(step.host(), here)) {
          const auto first = static_cast<unsigned char>(step.host()[0]);
          HONE_ICHECK(first == '1' || first == '[' || first == 'l' || first == 'L' || first == '0')
              << "served to " << step.host();
        }
        break;
      }
      case OutsideStep::kTokens: check_tokens(step.tokens()); break;
      case OutsideStep::KIND_NOT_SET: break;
    }
  }
  // The pages must render any state.
  const wire::FleetStatus status = world.tracker().status();
  HONE_ICHECK(!tracker::state_json(status).empty() && !tracker::state_text(status).empty());
  world.finish();
}

std::vector<std::string> seeds() {
  OutsideScript people, browsers;
  for (const char* action : {"drain", "resume", "quarantine", "reboot"}) {
    proto::AdminRequest* request = people.add_steps()->mutable_admin();
    request->set_action(action);
    request->set_name("good/cpu");
  }
  people.add_steps()->set_query("key=good%2Fcpu&id=%zz&a=b=c&&=");
  for (const char* host : {"localhost:9191", "127.0.0.1", "[::1]:80", "evil.example", "127.0.0.1.evil.example:9191"})
    people.add_steps()->set_host(host);
  people.add_steps()->set_tokens(
      "# comment\nadmin * 0123456789abcdef0123456789abcdef\nagent lab1 fedcba9876543210fedcba9876543210\n\n");
  browsers.add_steps()->set_http(
      "GET /?key=a%20b HTTP/1.1\r\nHost: localhost\r\n\r\nHEAD /api/state HTTP/1.1\r\nHost: localhost:1\r\n\r\n");
  browsers.add_steps()->set_http(
      "POST /api/admin HTTP/1.1\r\nHost: localhost\r\nX-Hone: 1\r\nContent-Length: 5\r\n\r\n{\"a\":");
  browsers.add_steps()->set_http(
      "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nHost: localhost\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
  return {people.SerializeAsString(), browsers.SerializeAsString()};
}

std::vector<std::string> words() {
  std::vector<std::string> words = known_words();
  words.insert(words.end(), {"GET /api/state HTTP/1.1\r\nHost: localhost\r\n\r\n", "reboot", "%", "%41",
                             "Content-Length: 99999999999999999999\r\n", "localhost", "127.0.0.1:"});
  return words;
}

}  // namespace
}  // namespace of_outside

const Target kOutside = {"outside", &of_outside::run, &of_outside::seeds,
                         [] { return std::unique_ptr<google::protobuf::Message>(new OutsideScript); },
                         &of_outside::words};

}  // namespace hone::fuzz
