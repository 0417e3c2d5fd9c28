// Where packages are: a folder, a web server's files, a registry. Carriers only: nothing that they say is believed
// before its digest, or the signature over it, was checked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "db/package/manifest.h"

namespace hone::db {

/// Errors are one line that names the place; Unavailable where it does not answer, NotFound where it has no package.
class PackagePlace {
 public:
  virtual ~PackagePlace() = default;

  /// The source that keys are pinned for, in one spelling: `/srv/packages/zen5`, `hone.example.org/team/zen5`.
  virtual const std::string& name() const = 0;
  /// The manifest that it offers now, at most kMostManifestBytes. Not checked yet.
  virtual StatusOr<std::string> manifest() = 0;
  /// Gives the bytes of a blob part by part until `take` fails or there are no more. Neither digest nor size are
  /// checked; read_blob() and fetch_blob() do.
  virtual Status blob(const BlobRef& blob, const std::function<Status(std::string_view part)>& take) = 0;

  /// A file of a package that is put there.
  struct NewBlob {
    BlobRef blob;
    std::string path;
  };
  /// The blobs, then the manifest that names them, then what makes it the one that is offered: a reader finds the old
  /// package or the new one, whole.
  virtual Status put(const std::vector<NewBlob>& blobs, const std::string& manifest,
                     const PackageStatement& statement) = 0;
};

/// A blob of at most a few MB, checked. InvalidArgument for other bytes.
StatusOr<std::string> read_blob(PackagePlace& place, const BlobRef& blob);
/// The same into a new file.
Status fetch_blob(PackagePlace& place, const BlobRef& blob, const std::string& path);

/// A folder in the layout of OCI images. Made when something is put there.
std::unique_ptr<PackagePlace> package_folder(const std::string& path);

}  // namespace hone::db
