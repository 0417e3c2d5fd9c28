#include "rpc/packages/places.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <algorithm>

#include "rpc/http/http_client.h"
#include "rpc/packages/remote_places.h"
#include "rpc/wire/access/secret_file.h"

namespace hone::packages {
namespace {

Status bad_source(const std::string& source, const std::string& why) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", source, why));
}

// `team/zen5`: as the distribution API has names.
bool is_repository(const std::string& name) {
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > 200 || !good(name.front()) || !good(name.back())) return false;
  bool after_mark = false;
  for (const char c : name) {
    const bool is_mark = c == '/' || c == '.' || c == '_' || c == '-';
    if (!good(c) && (!is_mark || after_mark)) return false;
    after_mark = is_mark;
  }
  return true;
}

bool is_tag(const std::string& tag) {
  const auto good = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  };
  return !tag.empty() && tag.size() <= 128 && tag[0] != '.' && tag[0] != '-' &&
         std::all_of(tag.begin(), tag.end(), good);
}

// A secret file with `USER:PASSWORD`, or with a token.
StatusOr<std::string> authorization(const std::string& file) {
  if (file.empty()) return std::string();
  HONE_ASSIGN_OR_RETURN(std::string secret, wire::read_secret_file(file));
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  const auto is_plain = [](char c) { return c >= 32 && c < 127; };
  if (secret.empty() || !std::all_of(secret.begin(), secret.end(), is_plain))
    return absl::InvalidArgumentError(fmt::format("--auth {}: expected one line, USER:PASSWORD or a token", file));
  if (secret.find(':') == std::string::npos) return "Bearer " + secret;
  return "Basic " + absl::Base64Escape(secret);
}

}  // namespace

StatusOr<std::unique_ptr<db::PackagePlace>> connect(const std::string& source, const db::PlaceAccess& access) {
  wire::CredentialFiles files;
  files.ca = access.ca_file;
  http::ClientOptions options;
  HONE_ASSIGN_OR_RETURN(options.credentials, wire::load_credentials(files));
  HONE_ASSIGN_OR_RETURN(std::string authorized, authorization(access.auth_file));
  if (http::is_url(source)) {
    HONE_ASSIGN_OR_RETURN(const http::Url url, http::Url::parse(source));
    HONE_ASSIGN_OR_RETURN(auto client, http::HttpClient::make(url, std::move(options)));
    return web_place({std::move(client), std::move(authorized)});
  }
  if (source.find("://") != std::string::npos)
    return bad_source(source, "allowed are https://, and http:// on loopback");
  const size_t slash = source.find('/');
  std::string name = source.substr(slash + 1), tag = "latest";
  if (const size_t colon = name.find(':'); colon != std::string::npos) tag = name.substr(colon + 1), name.resize(colon);
  if (!is_repository(name) || !is_tag(tag))
    return bad_source(source, "a registry's place is HOST[:PORT]/NAME[:TAG], NAME in small letters");
  const std::string host = source.substr(0, slash);
  HONE_ASSIGN_OR_RETURN(http::Url url, http::Url::parse("https://" + host));
  if (url.address.is_local() && access.ca_file.empty()) {
    HONE_ASSIGN_OR_RETURN(url, http::Url::parse("http://" + host));
  }
  HONE_ASSIGN_OR_RETURN(auto client, http::HttpClient::make(url, std::move(options)));
  return registry_place({std::move(client), std::move(authorized)}, name, tag);
}

}  // namespace hone::packages
