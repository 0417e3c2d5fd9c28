// The two documents of a package: the statement, which is signed, and the manifest of an OCI image, by which folders,
// web servers and registries know its blobs. The statement decides; a manifest that says otherwise is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "db/package/summary.h"

namespace hone::db {

inline constexpr int64_t kMostManifestBytes = int64_t{64} << 10;
inline constexpr int64_t kMostStatementBytes = int64_t{4} << 20;
inline constexpr int64_t kMostSignatureBytes = 4096;
inline constexpr int64_t kMostPackageBytes = int64_t{256} << 20;  ///< of its records as they travel
inline constexpr int64_t kMostRecordBytes = int64_t{2} << 30;     ///< of the same unpacked
inline constexpr int64_t kMostNumber = int64_t{1} << 53;          ///< of a package's number

inline constexpr std::string_view kManifestType = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kIndexType = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kPackageType = "application/vnd.hone.package.v1+json";
inline constexpr std::string_view kRecordsType = "application/vnd.hone.records.v1.jsonl+gzip";
inline constexpr std::string_view kSignatureType = "application/vnd.hone.signature.v1+json";

/// A blob by its content.
struct BlobRef {
  std::string sha256;  ///< 64 hexadecimal digits
  int64_t size = 0;    ///< bytes
  bool operator==(const BlobRef&) const = default;
};
/// The one of `bytes`.
BlobRef blob_ref(std::string_view bytes);

/// The words of a package's author, which are signed.
struct PackageStatement {
  std::string name;          ///< is_package_name()
  int64_t number = 0;        ///< from 1; a later package of the name has a greater one
  int64_t created_at = 0;    ///< Unix time in ms
  std::string packed_by;     ///< the program, its version and commit
  BlobRef records;           ///< the lines of an export, in gzip's format
  int64_t record_bytes = 0;  ///< of the same unpacked
  PackageSummary summary;
  bool operator==(const PackageStatement&) const = default;
};

/// Letters, digits, and . _ - between them; at most 64.
bool is_package_name(std::string_view name);

/// The canonical text, which is signed and whose digest names it.
std::string to_text(const PackageStatement& statement);
/// InvalidArgument, one line, for all that to_text() does not write, and for sizes beyond the bounds above.
StatusOr<PackageStatement> parse_statement(std::string_view text);

struct PackageManifest {
  BlobRef statement, records, signature;
  bool operator==(const PackageManifest&) const = default;
};
std::string to_text(const PackageManifest& manifest, const PackageStatement& statement);
/// Extra members are the carrier's, and are passed over.
StatusOr<PackageManifest> parse_manifest(std::string_view text);

/// index.json of a folder with one manifest.
std::string index_text(const BlobRef& manifest, const PackageStatement& statement);
StatusOr<BlobRef> parse_index(std::string_view text);

/// A signature of a statement's text: the raw key and the 64 bytes, in hex.
struct PackageSignature {
  std::string key, signature;
  bool operator==(const PackageSignature&) const = default;
};
std::string to_text(const PackageSignature& signature);
StatusOr<PackageSignature> parse_signature(std::string_view text);
/// The bytes that are signed: another use of the same key signs none that begin so.
std::string signed_bytes(std::string_view statement_text);

}  // namespace hone::db
