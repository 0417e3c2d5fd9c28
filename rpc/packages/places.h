// Places of packages over the network: files of a web server, and registries that speak OCI's distribution API.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "db/package/hooks.h"

namespace hone::packages {

/// As db::PackageHooks::connect: `https://HOST/FOLDER`, a web server's, which is only read, or `HOST[:PORT]/NAME[:TAG]`
/// of a registry (TAG: latest; plain HTTP on this machine's loopback, else TLS). InvalidArgument, one line, for other
/// texts and for files of access that cannot be used. Nothing is dialled yet.
///
/// Redirections to other hosts are not followed, so a registry that keeps its blobs elsewhere says so in one line.
StatusOr<std::unique_ptr<db::PackagePlace>> connect(const std::string& source, const db::PlaceAccess& access);

}  // namespace hone::packages
