#include <fmt/format.h>

#include "rpc/packages/remote_places.h"

namespace hone::packages {

Status unexpected(const Access& access, const std::string& path, const http::ClientAnswer& answer) {
  const std::string where = access.client->server().text() + path;
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

http::ClientRequest Access::request(const std::string& method, const std::string& path, int64_t most) const {
  constexpr int64_t kBytesInMs = 256 * 1024 / 1000;
  http::ClientRequest r;
  r.method = method, r.path = path, r.most_bytes = static_cast<size_t>(most);
  r.timeout = patience + std::chrono::milliseconds(most / kBytesInMs);
  if (!authorization.empty()) r.headers["Authorization"] = authorization;
  return r;
}

StatusOr<std::string> read_page(const Access& access, const std::string& path, const std::string& accept,
                                int64_t most) {
  http::ClientRequest r = access.request("GET", path, most);
  if (!accept.empty()) r.headers["Accept"] = accept;
  HONE_ASSIGN_OR_RETURN(http::ClientAnswer answer, access.client->send(r));
  if (answer.status != 200) return unexpected(access, path, answer);
  return std::move(answer.body);
}

Status stream_page(const Access& access, const std::string& path, int64_t most,
                   const std::function<Status(std::string_view)>& take) {
  http::ClientRequest r = access.request("GET", path, most);
  r.sink = take;
  HONE_ASSIGN_OR_RETURN(const http::ClientAnswer answer, access.client->send(r));
  return answer.status == 200 ? absl::OkStatus() : unexpected(access, path, answer);
}

namespace {

class WebPlace final : public db::PackagePlace {
 public:
  explicit WebPlace(Access access) : access_(std::move(access)), name_(access_.client->server().text()) {}

  const std::string& name() const override { return name_; }

  StatusOr<std::string> manifest() override {
    HONE_ASSIGN_OR_RETURN(const std::string index, read_page(access_, "/index.json", "", db::kMostManifestBytes));
    StatusOr<db::BlobRef> ref = db::parse_index(index);
    if (!ref.ok()) return absl::InvalidArgumentError(fmt::format("{}: {}", name_, message_of(ref.status())));
    return db::read_blob(*this, *ref);
  }

  Status blob(const db::BlobRef& blob, const std::function<Status(std::string_view)>& take) override {
    // One more than it may have: the reader says that there are too many.
    return stream_page(access_, "/blobs/sha256/" + blob.sha256, blob.size + 1, take);
  }

  Status put(const std::vector<NewBlob>&, const std::string&, const db::PackageStatement&) override {
    return absl::InvalidArgumentError(
        fmt::format("{}: a web server takes no packages; `tophub pack` to a folder, and copy that there", name_));
  }

 private:
  const Access access_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<db::PackagePlace> web_place(Access access) { return std::make_unique<WebPlace>(std::move(access)); }

}  // namespace hone::packages
