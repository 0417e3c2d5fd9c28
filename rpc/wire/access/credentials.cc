#include "rpc/wire/access/credentials.h"

#include <fmt/format.h>

#include <sstream>
#include <vector>

#include "rpc/wire/access/pem.h"
#include "rpc/wire/access/secret_file.h"

namespace hone::wire {
namespace {

Status in_flag(const std::string& flag, const Status& status) {
  return status.ok() ? status : absl::InvalidArgumentError(fmt::format("{} {}", flag, message_of(status)));
}

// The token alone, or a line of the tracker's file: ROLE NAME TOKEN.
StatusOr<std::string> parse_token(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    if (all.empty() || all[0][0] == '#') continue;
    if (all.size() != 1 && all.size() != 3)
      return absl::InvalidArgumentError("expected a line with TOKEN or ROLE NAME TOKEN");
    found.push_back(all.back());
  }
  if (found.size() != 1) return absl::InvalidArgumentError(fmt::format("holds {} tokens; expected one", found.size()));
  HONE_RETURN_IF_ERROR(check_token(found[0]));
  return found[0];
}

}  // namespace

StatusOr<Credentials> load_credentials(const CredentialFiles& files, Credentials others) {
  Credentials out = std::move(others);
  if (files.certificate.empty() != files.key.empty())
    return absl::InvalidArgumentError("--tls-cert and --tls-key belong together");
  if (!files.certificate.empty() && files.ca.empty() && out.ca.empty())
    return absl::InvalidArgumentError("--tls-cert needs --tls-ca, which the tracker's certificate is checked against");
  if (!files.ca.empty()) {
    auto text = read_small_file(files.ca);
    HONE_RETURN_IF_ERROR(in_flag("--tls-ca", text.status()));
    out.ca = *std::move(text);
    out.ca_from = "--tls-ca";
    if (const Status status = check_certificates(out.ca); !status.ok())
      return absl::InvalidArgumentError(fmt::format("--tls-ca {}: {}", files.ca, message_of(status)));
  }
  if (!files.certificate.empty()) {
    auto certificate = read_small_file(files.certificate);
    HONE_RETURN_IF_ERROR(in_flag("--tls-cert", certificate.status()));
    auto key = read_secret_file(files.key);
    HONE_RETURN_IF_ERROR(in_flag("--tls-key", key.status()));
    if (const Status status = check_key_pair(*certificate, *key); !status.ok())
      return absl::InvalidArgumentError(
          fmt::format("--tls-cert {} --tls-key {}: {}", files.certificate, files.key, message_of(status)));
    out.certificate = *std::move(certificate);
    out.key = *std::move(key);
    out.certificate_from = "--tls-cert";
  }
  if (!files.token.empty()) {
    const auto text = read_secret_file(files.token);
    HONE_RETURN_IF_ERROR(in_flag("--token-file", text.status()));
    auto token = parse_token(*text);
    if (!token.ok())
      return absl::InvalidArgumentError(fmt::format("--token-file {}: {}", files.token, message_of(token.status())));
    out.token = *std::move(token);
  }
  return out;
}

Status check_protected(const Address& tracker, const Credentials& credentials, bool insecure, const std::string& flag) {
  if (tracker.is_local() || credentials.tls() || insecure) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} {}: not a loopback address, and what is sent there{} is not encrypted; give --fleet or --tls-ca "
                  "(`tracker init-tls` makes both), use loopback, "
                  "unix:PATH, or --insecure on a network you trust",
                  flag, tracker.text(), credentials.token.empty() ? "" : ", the token included,"));
}

}  // namespace hone::wire
