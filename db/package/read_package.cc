#include "db/package/read_package.h"

#include <fmt/format.h>

#include <filesystem>

#include "db/package/gzip.h"

namespace hone::db {
namespace {

// Errors of a document with the place's name.
template <class T>
StatusOr<T> at(const PackagePlace& place, StatusOr<T> result) {
  if (result.ok() || !absl::IsInvalidArgument(result.status())) return result;
  return absl::InvalidArgumentError(fmt::format("{}: {}", place.name(), message_of(result.status())));
}

}  // namespace

StatusOr<PackageFiles> read_package(PackagePlace& place) {
  PackageFiles out;
  HONE_ASSIGN_OR_RETURN(out.manifest_text, place.manifest());
  HONE_ASSIGN_OR_RETURN(out.manifest, at(place, parse_manifest(out.manifest_text)));
  HONE_ASSIGN_OR_RETURN(out.statement_text, read_blob(place, out.manifest.statement));
  HONE_ASSIGN_OR_RETURN(out.statement, at(place, parse_statement(out.statement_text)));
  HONE_ASSIGN_OR_RETURN(const std::string signature, read_blob(place, out.manifest.signature));
  HONE_ASSIGN_OR_RETURN(out.signature, at(place, parse_signature(signature)));
  if (out.statement.records != out.manifest.records)
    return absl::InvalidArgumentError(
        fmt::format("{}: its manifest has other records than the signed statement", place.name()));
  return out;
}

StatusOr<std::string> fetch_records(PackagePlace& place, const PackageStatement& s, const std::string& folder) {
  const std::string packed = folder + "/records.gz", lines = folder + "/records.jsonl";
  HONE_RETURN_IF_ERROR(fetch_blob(place, s.records, packed));
  if (const Status unpacked = gunzip_file(packed, lines, s.record_bytes); !unpacked.ok()) {
    if (!absl::IsInvalidArgument(unpacked)) return unpacked;
    return absl::InvalidArgumentError(fmt::format("{}: its records: {}", place.name(), message_of(unpacked)));
  }
  std::error_code ec;
  std::filesystem::remove(packed, ec);
  return lines;
}

}  // namespace hone::db
