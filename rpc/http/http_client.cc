#include "rpc/http/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "base/text.h"
#include "rpc/http/client_connection.h"

namespace hone::http {
namespace {

using std::chrono::milliseconds;
using Deadline = std::chrono::steady_clock::time_point;

constexpr int kMostRedirects = 5;
constexpr milliseconds kFirstPause{25}, kLongestPause{2000};

bool is_busy(int status) { return status == 429 || status == 503; }
bool is_redirect(int status) { return status == 301 || status == 302 || status == 307 || status == 308; }

bool has_only(const std::string& text, bool (*fine)(char)) { return std::all_of(text.begin(), text.end(), fine); }

Status check_request(const ClientRequest& request) {
  if (request.path.empty() || request.path[0] != '/' ||
      !has_only(request.path, [](char c) { return c > ' ' && c <= '~'; }))
    return absl::InvalidArgumentError(fmt::format("'{}' is no path of a page", clean_line(request.path, 200)));
  for (const auto& [name, value] : request.headers)
    if (has_controls(name) || has_controls(value))
      return absl::InvalidArgumentError(fmt::format("the header {} holds control characters", clean_line(name, 200)));
  return absl::OkStatus();
}

// The path that `location` names at the same place; nothing: it is elsewhere.
std::optional<std::string> path_at(const Url& server, const std::string& location) {
  if (!location.empty() && location[0] == '/' && location.compare(0, 2, "//") != 0) return location;
  const size_t path = location.find('/', location.find("://") == std::string::npos ? 0 : location.find("://") + 3);
  const auto url = Url::parse(location.substr(0, path));
  if (!url.ok() || !url->same_place(server)) return std::nullopt;
  return path == std::string::npos ? "/" : location.substr(path);
}

}  // namespace

struct HttpClient::Impl {
  Url server;
  ClientOptions options;
  std::unique_ptr<ClientTls> tls;  // null: plain HTTP
  std::mutex mutex;                // guards the members below
  std::vector<std::unique_ptr<ClientConnection>> idle;
  std::minstd_rand random{std::random_device{}()};

  std::unique_ptr<ClientConnection> take_idle() {
    std::lock_guard lock(mutex);
    if (idle.empty()) return nullptr;
    auto out = std::move(idle.back());
    idle.pop_back();
    return out;
  }
  void keep(std::unique_ptr<ClientConnection> connection) {
    std::lock_guard lock(mutex);
    if (idle.size() < options.idle_connections) idle.push_back(std::move(connection));
  }
  // Between half of it and all of it, so that clients do not come back together.
  milliseconds pause(int attempt) {
    const auto longest = std::min(kLongestPause, kFirstPause * (1 << std::min(attempt, 10)));
    std::lock_guard lock(mutex);
    return milliseconds(std::uniform_int_distribution<int64_t>(longest.count() / 2, longest.count())(random));
  }

  StatusOr<std::unique_ptr<ClientConnection>> dial(Deadline deadline) {
    const Deadline soon = std::min(deadline, std::chrono::steady_clock::now() + options.connect_timeout);
    return ClientConnection::dial(server.address, tls.get(), soon);
  }

  // One request, at most twice: a connection that was kept open may have been closed by the server meanwhile.
  StatusOr<ClientAnswer> send_once(const ClientRequest& request, const std::string& path, Deadline deadline) {
    const bool repeatable = request.repeatable || request.method == "GET" || request.method == "HEAD";
    const WireRequest wire{request, path, server.host_header(), options.credentials.token};
    if (auto kept = take_idle()) {
      bool untouched = false;
      auto answer = kept->exchange(wire, deadline, &untouched);
      if (answer.ok() && kept->reusable()) keep(std::move(kept));
      if (answer.ok() || !(repeatable && untouched)) return answer;
    }
    HONE_ASSIGN_OR_RETURN(auto fresh, dial(deadline));
    auto answer = fresh->exchange(wire, deadline, nullptr);
    if (answer.ok() && fresh->reusable()) keep(std::move(fresh));
    return answer;
  }

  StatusOr<ClientAnswer> send(const ClientRequest& request, Deadline deadline) {
    const bool repeatable = request.repeatable || request.method == "GET" || request.method == "HEAD";
    std::string path = server.path + request.path;
    int redirects = 0;
    for (int attempt = 0;; ++attempt) {
      HONE_ASSIGN_OR_RETURN(ClientAnswer answer, send_once(request, path, deadline));
      if (is_redirect(answer.status) && (request.method == "GET" || request.method == "HEAD")) {
        const auto to = path_at(server, answer.headers["location"]);
        if (!to) return absl::FailedPreconditionError("it redirects to another server, which is not followed");
        if (++redirects > kMostRedirects) return absl::FailedPreconditionError("it redirects without end");
        path = *to;
        HONE_RETURN_IF_ERROR(check_request({.path = path}));
        continue;
      }
      const milliseconds wait = pause(attempt);
      if (!repeatable || !is_busy(answer.status) || std::chrono::steady_clock::now() + wait >= deadline) return answer;
      std::this_thread::sleep_for(wait);
    }
  }
};

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpClient::~HttpClient() = default;

StatusOr<std::unique_ptr<HttpClient>> HttpClient::make(const Url& server, ClientOptions options) {
  auto impl = std::make_unique<Impl>();
  const bool secret = !options.credentials.token.empty() || !options.credentials.certificate.empty();
  if (!server.tls && !server.address.is_local() && !options.insecure)
    return absl::InvalidArgumentError(
        fmt::format("{} is not encrypted: others on the way could read {} and forge its answers; use https:// (or "
                    "--insecure)",
                    server.text(), secret ? "the credentials" : "what is asked"));
  if (server.tls) {
    auto tls = ClientTls::make(options.credentials);
    if (!tls.ok()) return absl::InvalidArgumentError(fmt::format("{}: {}", server.text(), message_of(tls.status())));
    impl->tls = *std::move(tls);
  }
  impl->server = server;
  impl->options = std::move(options);
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(impl)));
}

StatusOr<ClientAnswer> HttpClient::send(const ClientRequest& request) {
  HONE_RETURN_IF_ERROR(check_request(request));
  const milliseconds timeout = request.timeout.count() > 0 ? request.timeout : impl_->options.timeout;
  auto answer = impl_->send(request, std::chrono::steady_clock::now() + timeout);
  if (answer.ok()) return answer;
  return Status(answer.status().code(), fmt::format("{}: {}", impl_->server.text(), message_of(answer.status())));
}

const Url& HttpClient::server() const { return impl_->server; }

}  // namespace hone::http
