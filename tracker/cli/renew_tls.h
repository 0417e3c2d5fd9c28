// `tracker init-tls DIR --renew`: the folder's certificates anew, before they end or after.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"
#include "rpc/gate/certificates.h"
#include "tracker/cli/tls_folder.h"

namespace hone::tracker {

/// NAME.pem and NAME.key of the folder; InvalidArgument when they cannot be read or do not belong together.
StatusOr<gate::KeyPair> read_pair(const TlsFolder& folder, const std::string& name);

/// Makes each certificate anew that the folder's CA has signed: for the same name and the same key, so that only
/// certificates have to be distributed, and the tracker's for `more_hosts` too. The CA stays unless it ends before they
/// would; then a new one is made, and ca.pem holds the old one beside it until that has ended. Tokens stay. Each fleet
/// file is made anew with them, or for the first time; a `port` of 0 keeps theirs, and so does a `tophub` that is
/// empty. Prints the changes, and which file goes where, on `out`.
Status renew_tls(TlsFolder& folder, const std::vector<std::string>& more_hosts, uint16_t port,
                 const std::string& tophub, std::ostream& out);

}  // namespace hone::tracker
