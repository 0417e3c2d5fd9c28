#include "db/package/place.h"

#include <fmt/format.h>

#include "base/secure_hash.h"
#include "db/package/durable_file.h"

namespace hone::db {
namespace {

// Calls `take` with the parts of a blob, and checks size and digest as they come.
Status checked(PackagePlace& place, const BlobRef& blob, const std::function<Status(std::string_view)>& take) {
  Sha256 hash;
  int64_t size = 0;
  const auto bad = [&](const std::string& why) {
    return absl::InvalidArgumentError(fmt::format("{}: blob {}: {}", place.name(), blob.sha256, why));
  };
  HONE_RETURN_IF_ERROR(place.blob(blob, [&](std::string_view part) -> Status {
    size += static_cast<int64_t>(part.size());
    if (size > blob.size) return bad(fmt::format("it is larger than the {} bytes that it should have", blob.size));
    hash.add(part);
    return take(part);
  }));
  if (size != blob.size) return bad(fmt::format("it has {} bytes instead of {}", size, blob.size));
  if (hash.hex() != blob.sha256) return bad("its bytes are others than its digest says");
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::string> read_blob(PackagePlace& place, const BlobRef& blob) {
  std::string out;
  HONE_RETURN_IF_ERROR(checked(place, blob, [&](std::string_view part) {
    out += part;
    return absl::OkStatus();
  }));
  return out;
}

Status fetch_blob(PackagePlace& place, const BlobRef& blob, const std::string& path) {
  HONE_ASSIGN_OR_RETURN(DurableFile file, DurableFile::create(path));
  HONE_RETURN_IF_ERROR(checked(place, blob, [&](std::string_view part) { return file.write(part); }));
  return file.close();
}

}  // namespace hone::db
