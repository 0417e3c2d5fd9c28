#include <fmt/format.h>

#include "rpc/packages/remote_places.h"

namespace hone::packages {

Status unexpected(const http::HttpClient& client, const std::string& path, const http::ClientAnswer& answer) {
  const std::string where = client.server().text() + path;
  switch (answer.status) {
    case 401:
    case 403:
      return absl::PermissionDeniedError(
          fmt::format("{}: access is refused (status {}); --auth FILE says who asks", where, answer.status));
    case 404: return absl::NotFoundError(fmt::format("{}: there is nothing (status 404)", where));
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      return absl::UnavailableError(
          fmt::format("{}: it leads to another host (status {}), which is not followed", where, answer.status));
    default: return absl::UnavailableError(fmt::format("{}: status {}", where, answer.status));
  }
}

namespace {

http::ClientRequest request_of(const std::string& authorization, const std::string& path, int64_t most) {
  http::ClientRequest r;
  r.path = path, r.most_bytes = static_cast<size_t>(most);
  if (!authorization.empty()) r.headers["Authorization"] = authorization;
  return r;
}

}  // namespace

StatusOr<std::string> read_page(http::HttpClient& client, const std::string& authorization, const std::string& path,
                                const std::string& accept, int64_t most) {
  http::ClientRequest r = request_of(authorization, path, most);
  if (!accept.empty()) r.headers["Accept"] = accept;
  HONE_ASSIGN_OR_RETURN(http::ClientAnswer answer, client.send(r));
  if (answer.status != 200) return unexpected(client, path, answer);
  return std::move(answer.body);
}

Status stream_page(http::HttpClient& client, const std::string& authorization, const std::string& path, int64_t most,
                   const std::function<Status(std::string_view)>& take) {
  http::ClientRequest r = request_of(authorization, path, most);
  r.sink = take;
  HONE_ASSIGN_OR_RETURN(const http::ClientAnswer answer, client.send(r));
  return answer.status == 200 ? absl::OkStatus() : unexpected(client, path, answer);
}

namespace {

class WebPlace final : public db::PackagePlace {
 public:
  WebPlace(std::unique_ptr<http::HttpClient> client, std::string authorization)
      : client_(std::move(client)), authorization_(std::move(authorization)), name_(client_->server().text()) {}

  const std::string& name() const override { return name_; }

  StatusOr<std::string> manifest() override {
    HONE_ASSIGN_OR_RETURN(const std::string index,
                          read_page(*client_, authorization_, "/index.json", "", db::kMostManifestBytes));
    StatusOr<db::BlobRef> ref = db::parse_index(index);
    if (!ref.ok()) return absl::InvalidArgumentError(fmt::format("{}: {}", name_, message_of(ref.status())));
    return db::read_blob(*this, *ref);
  }

  Status blob(const db::BlobRef& blob, const std::function<Status(std::string_view)>& take) override {
    // One more than it may have: the reader says that there are too many.
    return stream_page(*client_, authorization_, "/blobs/sha256/" + blob.sha256, blob.size + 1, take);
  }

  Status put(const std::vector<NewBlob>&, const std::string&, const db::PackageStatement&) override {
    return absl::InvalidArgumentError(
        fmt::format("{}: a web server takes no packages; `tophub pack` to a folder, and copy that there", name_));
  }

 private:
  const std::unique_ptr<http::HttpClient> client_;
  const std::string authorization_, name_;
};

}  // namespace

std::unique_ptr<db::PackagePlace> web_place(std::unique_ptr<http::HttpClient> client, std::string authorization) {
  return std::make_unique<WebPlace>(std::move(client), std::move(authorization));
}

}  // namespace hone::packages
