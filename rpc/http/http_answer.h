// From a request to its response: which host, who, which page. Internal to the HTTP server.
#pragma once

#include <boost/beast/http.hpp>
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
};

struct HttpPeer {
  std::string address;      // as peer_name() calls it
  std::string certificate;  // PEM; empty: none
};

using HttpText = boost::beast::http::response<boost::beast::http::string_body>;
struct HttpResponse : HttpText {
  using HttpText::HttpText;
  std::shared_ptr<const void> held;  // as in HttpReply
};

/// One line of text.
HttpResponse plain_response(boost::beast::http::status status, const std::string& text);

/// Whether it asks for the page of probes, which says nothing and needs no token.
bool is_probe(const boost::beast::http::request<boost::beast::http::string_body>& request);

/// The page that `request` asks for, or why it is not given; refusals are noted in `shared`'s rejections.
HttpResponse answer(HttpShared& shared, const HttpPeer& peer,
                    const boost::beast::http::request<boost::beast::http::string_body>& request);

}  // namespace hone::http
