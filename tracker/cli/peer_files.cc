#include "tracker/cli/peer_files.h"

#include "rpc/wire/access/fleet_file.h"
#include "rpc/wire/access/pem.h"
#include "rpc/wire/access/secret_file.h"

namespace hone::tracker {

std::string fleet_file_of(const std::string& name) { return name + ".hone"; }

std::vector<wire::Address> addresses_of(const std::vector<std::string>& hosts, uint16_t port) {
  std::vector<wire::Address> out;
  for (const std::string& host : hosts) out.push_back({host, port, ""});
  return out;
}

uint16_t port_of(const TlsFolder& folder) {
  const auto admin = wire::load_fleet_file(folder.path(fleet_file_of("admin")));
  return admin.ok() ? admin->trackers.front().port : kUsualPort;
}

std::string tophub_of(const TlsFolder& folder, const std::string& name) {
  const auto file = wire::load_fleet_file(folder.path(fleet_file_of(name)));
  return file.ok() ? file->tophub : "";
}

StatusOr<std::string> renew_fleet_file(TlsFolder& folder, const std::string& file, const std::string& ca,
                                       const std::string& certificate, const std::vector<wire::Address>& trackers,
                                       const std::string& tophub) {
  HONE_ASSIGN_OR_RETURN(const wire::CertificateSubject subject, wire::certificate_subject(certificate));
  const auto& [name, role] = subject;
  if (!folder.has(file + ".token") || (file != name && file != role + "-" + name)) return std::string();
  // Folders of before may have a tuner and an agent of one name; then the file says which it is.
  const bool shared = folder.has("tuner-" + name + ".pem") && folder.has("agent-" + name + ".pem");
  const std::string holder = shared ? file : name, made = fleet_file_of(holder);
  HONE_ASSIGN_OR_RETURN(const std::string key, wire::read_secret_file(folder.path(file + ".key")));
  HONE_ASSIGN_OR_RETURN(std::string token, wire::read_secret_file(folder.path(file + ".token")));
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  folder.replace(
      made,
      wire::fleet_file_text(
          {role, name, trackers, {ca, certificate, key, token}, tophub.empty() ? tophub_of(folder, holder) : tophub}));
  return made;
}

}  // namespace hone::tracker
