#include "rpc/gate/server_tls.h"

#include <fmt/format.h>

#include "rpc/wire/access/pem.h"
#include "rpc/wire/access/secret_file.h"

namespace hone::gate {

Status check_server_tls(const ServerTls& tls) {
  const auto in_flag = [](const char* flag, const Status& status) {
    return status.ok() ? status : absl::InvalidArgumentError(fmt::format("{} {}", flag, message_of(status)));
  };
  if (tls.certificate.empty() != tls.key.empty())
    return absl::InvalidArgumentError("--tls-cert and --tls-key belong together");
  if (!tls.enabled())
    return tls.client_ca.empty() ? absl::OkStatus()
                                 : absl::InvalidArgumentError("--tls-client-ca needs --tls-cert and --tls-key");
  const auto certificate = wire::read_small_file(tls.certificate);
  HONE_RETURN_IF_ERROR(in_flag("--tls-cert", certificate.status()));
  const auto key = wire::read_secret_file(tls.key);
  HONE_RETURN_IF_ERROR(in_flag("--tls-key", key.status()));
  if (const Status status = wire::check_key_pair(*certificate, *key); !status.ok())
    return absl::InvalidArgumentError(
        fmt::format("--tls-cert {} --tls-key {}: {}", tls.certificate, tls.key, message_of(status)));
  if (tls.client_ca.empty()) return absl::OkStatus();
  const auto ca = wire::read_small_file(tls.client_ca);
  HONE_RETURN_IF_ERROR(in_flag("--tls-client-ca", ca.status()));
  if (const Status status = wire::check_certificates(*ca); !status.ok())
    return absl::InvalidArgumentError(fmt::format("--tls-client-ca {}: {}", tls.client_ca, message_of(status)));
  return absl::OkStatus();
}

}  // namespace hone::gate
