// A folder in the layout of OCI images: oci-layout, index.json, blobs/sha256/DIGEST.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/exit_code.h"
#include "base/plain_file.h"
#include "base/secure_hash.h"
#include "db/package/durable_file.h"
#include "db/package/place.h"

namespace hone::db {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLayout = R"({"imageLayoutVersion":"1.0.0"})";
constexpr int64_t kPart = 256 << 10;

class PackageFolder final : public PackagePlace {
 public:
  explicit PackageFolder(const std::string& path) : path_(fs::absolute(path).lexically_normal().string()) {
    if (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  }

  const std::string& name() const override { return path_; }

  StatusOr<std::string> manifest() override {
    HONE_ASSIGN_OR_RETURN(const BlobRef blob, offered());
    return read_blob(*this, blob);
  }

  Status blob(const BlobRef& blob, const std::function<Status(std::string_view)>& take) override {
    HONE_ASSIGN_OR_RETURN(const PlainFile file, PlainFile::open(path_of(blob)));
    for (;;) {
      HONE_ASSIGN_OR_RETURN(const std::string part, file.next(kPart));
      if (part.empty()) return absl::OkStatus();
      HONE_RETURN_IF_ERROR(take(part));
    }
  }

  Status put(const std::vector<NewBlob>& blobs, const std::string& manifest,
             const PackageStatement& statement) override {
    std::error_code ec;
    // A folder of something else is not filled with blobs.
    if (fs::exists(path_, ec) && !fs::exists(path_ + "/oci-layout", ec) && !fs::is_empty(path_, ec))
      return usage_error(fmt::format("{} is no folder of a package, and not empty; name a new one", path_));
    fs::create_directories(path_ + "/blobs/sha256", ec);
    if (ec) return database_error(fmt::format("{} cannot be made: {}", path_, ec.message()));
    std::set<std::string> kept = named_now();
    for (const NewBlob& b : blobs) {
      HONE_RETURN_IF_ERROR(copy(b));
      kept.insert(b.blob.sha256);
    }
    const BlobRef ref = blob_ref(manifest);
    kept.insert(ref.sha256);
    HONE_RETURN_IF_ERROR(write_durably(path_of(ref), manifest));
    HONE_RETURN_IF_ERROR(sync_folder(path_ + "/blobs/sha256"));
    HONE_RETURN_IF_ERROR(write_durably(path_ + "/oci-layout", kLayout));
    HONE_RETURN_IF_ERROR(write_durably(path_ + "/index.json", index_text(ref, statement)));
    remove_others(kept);
    return absl::OkStatus();
  }

 private:
  std::string path_of(const BlobRef& blob) const { return path_ + "/blobs/sha256/" + blob.sha256; }

  StatusOr<BlobRef> offered() const {
    std::error_code ec;
    if (!fs::exists(path_ + "/index.json", ec))
      return absl::NotFoundError(fmt::format("{}: there is no package: no index.json in it", path_));
    HONE_ASSIGN_OR_RETURN(const std::string text, read_plain_file(path_ + "/index.json", kMostManifestBytes));
    StatusOr<BlobRef> ref = parse_index(text);
    if (!ref.ok()) return absl::InvalidArgumentError(fmt::format("{}: {}", path_, message_of(ref.status())));
    return ref;
  }

  // Blobs of the package that is offered until now: who pulls it meanwhile finds them.
  std::set<std::string> named_now() {
    std::set<std::string> out;
    const auto ref = offered();
    const auto text = ref.ok() ? read_blob(*this, *ref) : StatusOr<std::string>(ref.status());
    const auto manifest = text.ok() ? parse_manifest(*text) : StatusOr<PackageManifest>(text.status());
    if (manifest.ok())
      out = {ref->sha256, manifest->statement.sha256, manifest->records.sha256, manifest->signature.sha256};
    return out;
  }

  Status copy(const NewBlob& b) {
    const std::string to = path_of(b.blob);
    if (const auto there = sha256_of_file(to); there.ok() && *there == b.blob.sha256) return absl::OkStatus();
    HONE_ASSIGN_OR_RETURN(const std::string bytes, read_plain_file(b.path, kMostPackageBytes));
    return write_durably(to, bytes);
  }

  // Blobs of older packages.
  void remove_others(const std::set<std::string>& kept) const {
    std::error_code ec;
    for (const auto& entry : fs::directory_iterator(path_ + "/blobs/sha256", ec)) {
      const std::string name = entry.path().filename().string();
      if (is_sha256_hex(name) && !kept.contains(name)) fs::remove(entry.path(), ec);
    }
  }

  std::string path_;
};

}  // namespace

std::unique_ptr<PackagePlace> package_folder(const std::string& path) { return std::make_unique<PackageFolder>(path); }

}  // namespace hone::db
