// A registry, by version 2 of its API (OCI distribution): blobs by digest, manifests by tag.
#include <fmt/format.h>

#include "base/plain_file.h"
#include "base/text.h"
#include "rpc/packages/remote_places.h"

namespace hone::packages {
namespace {

class RegistryPlace final : public db::PackagePlace {
 public:
  RegistryPlace(Access access, const std::string& repository, std::string tag)
      : access_(std::move(access)),
        root_("/v2/" + repository),
        tag_(std::move(tag)),
        name_(fmt::format("{}/{}{}", access_.client->server().host_header(), repository,
                          tag_ == "latest" ? "" : ":" + tag_)) {}

  const std::string& name() const override { return name_; }

  StatusOr<std::string> manifest() override {
    return read_page(access_, root_ + "/manifests/" + tag_, std::string(db::kManifestType), db::kMostManifestBytes);
  }

  Status blob(const db::BlobRef& blob, const std::function<Status(std::string_view)>& take) override {
    return stream_page(access_, path_of(blob), blob.size + 1, take);
  }

  Status put(const std::vector<NewBlob>& blobs, const std::string& manifest,
             const db::PackageStatement& statement) override {
    for (const NewBlob& b : blobs) HONE_RETURN_IF_ERROR(put_blob(b));
    // The tag that readers look at comes last.
    HONE_RETURN_IF_ERROR(put_manifest(manifest, std::to_string(statement.number)));
    return put_manifest(manifest, tag_);
  }

 private:
  std::string path_of(const db::BlobRef& blob) const { return root_ + "/blobs/sha256:" + blob.sha256; }

  http::ClientRequest request(const std::string& method, const std::string& path, int64_t bytes = 1 << 20) const {
    return access_.request(method, path, bytes);
  }

  Status put_blob(const NewBlob& b) {
    HONE_ASSIGN_OR_RETURN(const http::ClientAnswer there, access_.client->send(request("HEAD", path_of(b.blob))));
    if (there.status == 200) return absl::OkStatus();
    if (there.status != 404) return unexpected(access_, path_of(b.blob), there);
    const std::string begin = root_ + "/blobs/uploads/";
    HONE_ASSIGN_OR_RETURN(const http::ClientAnswer begun, access_.client->send(request("POST", begin)));
    const auto location = begun.headers.find("location");
    if (begun.status != 202 || location == begun.headers.end()) return unexpected(access_, begin, begun);
    HONE_ASSIGN_OR_RETURN(std::string path, own_path(location->second));
    path += fmt::format("{}digest=sha256:{}", path.find('?') == std::string::npos ? "?" : "&", b.blob.sha256);
    http::ClientRequest put = request("PUT", path, b.blob.size + (1 << 20));
    put.content_type = "application/octet-stream";
    HONE_ASSIGN_OR_RETURN(put.body, read_plain_file(b.path, db::kMostPackageBytes));
    HONE_ASSIGN_OR_RETURN(const http::ClientAnswer done, access_.client->send(put));
    return done.status == 201 ? absl::OkStatus() : unexpected(access_, begin, done);
  }

  Status put_manifest(const std::string& manifest, const std::string& tag) {
    http::ClientRequest put = request("PUT", root_ + "/manifests/" + tag);
    put.content_type = db::kManifestType, put.body = manifest, put.repeatable = true;
    HONE_ASSIGN_OR_RETURN(const http::ClientAnswer done, access_.client->send(put));
    return done.status == 201 ? absl::OkStatus() : unexpected(access_, put.path, done);
  }

  // The path of an upload that the registry names: its own, or it would get what others should.
  StatusOr<std::string> own_path(const std::string& location) const {
    std::string path = location;
    for (const char* scheme : {"http://", "https://"})
      if (const std::string own = scheme + access_.client->server().host_header(); path.starts_with(own + "/"))
        path = path.substr(own.size());
    if (!path.starts_with("/") || has_controls(path) || path.find(' ') != std::string::npos)
      return absl::UnavailableError(
          fmt::format("{}: it sends uploads elsewhere: {}", name_, short_line(location, 100)));
    return path;
  }

  const Access access_;
  const std::string root_, tag_, name_;
};

}  // namespace

std::unique_ptr<db::PackagePlace> registry_place(Access access, const std::string& repository, const std::string& tag) {
  return std::make_unique<RegistryPlace>(std::move(access), repository, tag);
}

}  // namespace hone::packages
