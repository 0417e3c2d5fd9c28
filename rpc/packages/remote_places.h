// The two kinds of places over HTTP; places.h makes them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "db/package/place.h"
#include "rpc/http/http_client.h"

namespace hone::packages {

/// A server, and how it is asked.
struct Access {
  std::unique_ptr<http::HttpClient> client;
  std::string authorization = {};              ///< the header's value; empty: none
  std::chrono::milliseconds patience{30'000};  ///< for an answer, beside the time that its bytes take

  /// A request with these and no more than `most` bytes of answer, for which a slow line (256 KiB a second) has the
  /// time.
  http::ClientRequest request(const std::string& method, const std::string& path, int64_t most) const;
};

/// A package's folder as a web server has it.
std::unique_ptr<db::PackagePlace> web_place(Access access);

/// A repository of a registry, and the tag that is read and written; the package's number is written as a tag, too.
std::unique_ptr<db::PackagePlace> registry_place(Access access, const std::string& repository, const std::string& tag);

/// The bytes of a page, at most `most`; `accept` may be empty. NotFound where there is none, PermissionDenied where
/// access is refused, Unavailable else.
StatusOr<std::string> read_page(const Access& access, const std::string& path, const std::string& accept, int64_t most);
/// The same part by part.
Status stream_page(const Access& access, const std::string& path, int64_t most,
                   const std::function<Status(std::string_view)>& take);
/// The error of an answer that is not what was expected.
Status unexpected(const Access& access, const std::string& path, const http::ClientAnswer& answer);

}  // namespace hone::packages
