#include "rpc/http/http_answer.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "rpc/gate/http_auth.h"

namespace hone::http {
namespace {

namespace http = boost::beast::http;
using Request = HttpHeader;

HttpResponse refused(HttpShared& shared, const HttpPeer& peer, http::status status, gate::Refusal reason,
                     const std::string& text) {
  shared.security.rejections->note(peer.address, reason, "HTTP: " + text);
  return json_error(status, text);
}

// The grant of the caller; without one, `response` says why.
std::optional<gate::Grant> identify(HttpShared& shared, const HttpPeer& peer, const Request& request,
                                    HttpResponse* response) {
  if (!shared.security.authority) return gate::Grant{};
  const auto header = request[http::field::authorization];
  const gate::Judgement judgement =
      shared.security.authority->judge_http({gate::token_in_header({header.data(), header.size()}), peer.certificate});
  if (judgement.grant) return judgement.grant;
  *response = refused(shared, peer, http::status::unauthorized, judgement.reason, judgement.text);
  response->set(http::field::www_authenticate, "Basic realm=\"Hone: the token is the password\", charset=\"UTF-8\"");
  return std::nullopt;
}

// Nothing: it may.
std::optional<HttpResponse> refuse_role(HttpShared& shared, const HttpPeer& peer, const HttpPage& page, bool post,
                                        const gate::Grant& grant) {
  if (post && grant.role_name() == "open" && !page.open_too)
    return refused(shared, peer, http::status::forbidden, gate::Refusal::kWrongRole,
                   "this port asks for no token, so it cannot be used to change anything" + page.advice);
  const std::optional<gate::Role> role = page.role || !post ? page.role : gate::Role::kAdmin;
  if (role && !grant.allows(*role))
    return refused(shared, peer, http::status::forbidden, gate::Refusal::kWrongRole,
                   fmt::format("{} lacks the role {} that this needs", grant.text(), gate::name(*role)));
  return std::nullopt;
}

}  // namespace

HttpResponse json_error(http::status status, const std::string& text) {
  HttpResponse response(status);
  response.set(http::field::content_type, "application/json");
  response.body = json_line(Json{{"error", text}});
  return response;
}

HttpResponse plain_response(http::status status, const std::string& text) {
  HttpResponse response(status);
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.body = text;
  return response;
}

bool is_probe(const Request& request) {
  const auto target = request.target();
  return request.method() != http::verb::post && target.substr(0, target.find('?')) == "/healthz";
}

Admission admit(HttpShared& shared, const HttpPeer& peer, const Request& request) {
  Admission out;
  const std::string target(request.target());
  const size_t mark = target.find('?');
  const std::string path = target.substr(0, mark);
  const bool post = request.method() == http::verb::post;
  const auto refuse = [&](HttpResponse response) {
    out.refusal = std::move(response);
    return std::move(out);
  };
  const auto is_ours = [&](const std::string& host) { return shared.tls && shared.tls->is_for(host); };
  if (!host_allowed(std::string(request[http::field::host]), shared.listen, is_ours)) {
    shared.security.rejections->note(peer.address, gate::Refusal::kHost, "HTTP: the Host header names another host");
    return refuse(plain_response(http::status::misdirected_request, "this host name is not served here\n"));
  }
  if (!post && request.method() != http::verb::get && request.method() != http::verb::head) {
    HttpResponse response = plain_response(http::status::method_not_allowed, "allowed methods: GET, HEAD, POST\n");
    response.set(http::field::allow, "GET, HEAD, POST");
    return refuse(std::move(response));
  }
  HttpResponse unknown;
  std::optional<gate::Grant> grant = is_probe(request) ? gate::Grant{} : identify(shared, peer, request, &unknown);
  if (!grant) return refuse(std::move(unknown));
  const auto page = shared.pages.find(post ? "POST " + path : path);
  if (page == shared.pages.end()) {
    if (!shared.pages.contains(post ? path : "POST " + path))
      return refuse(plain_response(http::status::not_found, "no such page\n"));
    HttpResponse response = plain_response(http::status::method_not_allowed,
                                           post ? "allowed methods: GET, HEAD\n" : "allowed method: POST\n");
    response.set(http::field::allow, post ? "GET, HEAD" : "POST");
    return refuse(std::move(response));
  }
  if (post && request["X-Hone"] != "1")
    return refuse(refused(shared, peer, http::status::forbidden, gate::Refusal::kBadRequest,
                          "the header `X-Hone: 1` is missing"));
  if (auto refusal = refuse_role(shared, peer, page->second, post, *grant)) return refuse(*std::move(refusal));
  if (mark != std::string::npos) out.asked.query = parse_query(std::string_view(target).substr(mark + 1));
  out.asked.grant = *std::move(grant);
  out.page = &page->second;
  return out;
}

HttpResponse answer(const HttpPage& page, const HttpRequest& asked) {
  HttpReply reply;
  try {
    reply = page.answer(asked);
  } catch (const std::exception& e) {
    log::error("HTTP: a page failed: {}", e.what());
    return json_error(http::status::internal_server_error, "this is a bug of the server; its log says more");
  }
  HttpResponse response(http::int_to_status(static_cast<unsigned>(reply.status)));
  response.set(http::field::content_type, reply.content_type);
  if (reply.status == 429 || reply.status == 503) response.set(http::field::retry_after, "1");
  response.body = std::move(reply.body);
  response.file = std::move(reply.file);
  response.held = std::move(reply.held);
  return response;
}

}  // namespace hone::http
