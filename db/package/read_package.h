// A package as its place offers it, without the records, each part checked against the others.
#pragma once

#include <string>

#include "base/status.h"
#include "db/package/place.h"

namespace hone::db {

struct PackageFiles {
  std::string manifest_text;
  PackageManifest manifest;
  std::string statement_text;
  PackageStatement statement;
  PackageSignature signature;  ///< not verified
};

/// InvalidArgument, one line with the place's name, for parts that do not fit; errors of the place.
StatusOr<PackageFiles> read_package(PackagePlace& place);

/// Fetches the records and unpacks them into `folder`/records.jsonl; checks digests, sizes and bounds.
StatusOr<std::string> fetch_records(PackagePlace& place, const PackageStatement& statement, const std::string& folder);

}  // namespace hone::db
