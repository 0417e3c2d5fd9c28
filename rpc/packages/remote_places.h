// The two kinds of places over HTTP; places.h makes them.
#pragma once

#include <memory>
#include <string>

#include "db/package/place.h"
#include "rpc/http/http_client.h"

namespace hone::packages {

/// A package's folder as a web server has it. `authorization`: the header's value; empty: none.
std::unique_ptr<db::PackagePlace> web_place(std::unique_ptr<http::HttpClient> client, std::string authorization);

/// A repository of a registry, and the tag that is read and written; the package's number is written as a tag, too.
std::unique_ptr<db::PackagePlace> registry_place(std::unique_ptr<http::HttpClient> client, std::string authorization,
                                                 const std::string& repository, const std::string& tag);

/// The bytes of a page, at most `most`; `accept` may be empty. NotFound where there is none, PermissionDenied where
/// access is refused, Unavailable else.
StatusOr<std::string> read_page(http::HttpClient& client, const std::string& authorization, const std::string& path,
                                const std::string& accept, int64_t most);
/// The same part by part.
Status stream_page(http::HttpClient& client, const std::string& authorization, const std::string& path, int64_t most,
                   const std::function<Status(std::string_view)>& take);
/// The error of an answer that is not what was expected.
Status unexpected(const http::HttpClient& client, const std::string& path, const http::ClientAnswer& answer);

}  // namespace hone::packages
