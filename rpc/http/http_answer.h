// From a request to its response: which host, who, which page. Internal to the HTTP server.
#pragma once

#include <boost/beast/http.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "rpc/gate/http_tls.h"
#include "rpc/gate/probe_slots.h"
#include "rpc/http/http.h"

namespace hone::http {

/// For the server's thread only.
struct HttpShared {
  HttpPages pages;
  HttpLimits limits;
  wire::Address listen;
  gate::Security security;
  std::unique_ptr<gate::HttpTls> tls;  // null: plain HTTP
  size_t connections = 0;
  std::map<std::string, size_t> by_peer = {};  // both without those that have a slot
  gate::ProbeSlots slots = {};
  size_t in_flight = 0;
  std::map<std::string, size_t> by_tenant = {};               // of those in flight
  std::function<void(std::function<void()>)> work = nullptr;  // runs it on a worker
  std::function<void(std::function<void()>)> back = nullptr;  // runs it on the server's thread, from any
};

struct HttpPeer {
  std::string address;      // as peer_name() calls it
  std::string certificate;  // PEM; empty: none
};

/// A response whose body is a text or a file.
struct HttpResponse {
  boost::beast::http::response_header<> header;  // and status
  std::string body;
  std::string file;                  // not empty: its path, as in HttpReply
  std::shared_ptr<const void> held;  // as in HttpReply

  explicit HttpResponse(boost::beast::http::status status = boost::beast::http::status::ok) { header.result(status); }
  void set(boost::beast::http::field name, const std::string& value) { header.set(name, value); }
};

/// One line of text.
HttpResponse plain_response(boost::beast::http::status status, const std::string& text);

using HttpHeader = boost::beast::http::request_header<>;

/// Whether it asks for the page of probes, which says nothing and needs no token.
bool is_probe(const HttpHeader& request);

/// The fate of a request, as its header alone says: a page and the rights of who asks, or a refusal.
struct Admission {
  const HttpPage* page = nullptr;  ///< null: refused
  HttpRequest asked = {};          ///< without its body
  HttpResponse refusal = HttpResponse();
};

/// Refusals are noted in `shared`'s rejections.
Admission admit(HttpShared& shared, const HttpPeer& peer, const HttpHeader& request);

/// The page's response; an exception of the page is a 500. On any thread.
HttpResponse answer(const HttpPage& page, const HttpRequest& asked);

/// A line of JSON, {"error": text}.
HttpResponse json_error(boost::beast::http::status status, const std::string& text);

}  // namespace hone::http
