#include "tracker/cli/renew_tls.h"

#include <fmt/format.h>

#include <map>

#include "base/exit_code.h"
#include "rpc/wire/access/certificate_dates.h"
#include "rpc/wire/access/pem.h"
#include "rpc/wire/access/secret_file.h"
#include "tracker/cli/peer_files.h"

namespace hone::tracker {
namespace {

// The first certificate of a file alone: the one that its key belongs to.
StatusOr<wire::CertificateDates> first_dates(const std::string& pem) {
  HONE_ASSIGN_OR_RETURN(const auto all, wire::certificate_dates(pem));
  return all.front();
}

void print_ca(const wire::CertificateDates& old, const wire::CertificateDates& fresh, wire::UnixSeconds now,
              std::ostream& out) {
  const bool over = now > old.not_after;
  out << fmt::format("# A new CA was made, valid until {}: the old one {} {}.\n", wire::date_text(fresh.not_after),
                     over ? "expired on" : "expires too soon, on", wire::date_text(old.not_after))
      << "# Copy ca.pem" << (over ? "" : ", which holds both,")
      << " to every machine of an agent or a tuner, with the certificate that is used there. Until then a program "
         "that connects again says that\n"
         "# the tracker's certificate is not signed by a certificate of --tls-ca; existing connections stay open.\n";
}

}  // namespace

StatusOr<gate::KeyPair> read_pair(const TlsFolder& folder, const std::string& name) {
  HONE_ASSIGN_OR_RETURN(std::string certificate, wire::read_small_file(folder.path(name + ".pem")));
  HONE_ASSIGN_OR_RETURN(std::string key, wire::read_secret_file(folder.path(name + ".key")));
  if (const Status status = wire::check_key_pair(certificate, key); !status.ok())
    return usage_error(fmt::format("{}: {}", folder.path(name + ".pem"), message_of(status)));
  return gate::KeyPair{std::move(certificate), std::move(key)};
}

Status renew_tls(TlsFolder& folder, const std::vector<std::string>& more_hosts, uint16_t port,
                 const std::string& tophub, std::ostream& out) {
  if (!folder.has("ca.pem"))
    return usage_error(
        fmt::format("{}: there is no CA to renew; run it without --renew to make one", folder.path("ca.pem")));
  HONE_ASSIGN_OR_RETURN(gate::KeyPair ca, read_pair(folder, "ca"));
  HONE_ASSIGN_OR_RETURN(const wire::CertificateDates old_dates, first_dates(ca.certificate));
  const std::string old_cas = ca.certificate;
  std::string cas = old_cas;  // the future contents of ca.pem
  const wire::UnixSeconds now = wire::wall_clock();
  const bool new_ca = old_dates.not_after - now < gate::kCertificateSeconds;
  if (new_ca) {
    HONE_ASSIGN_OR_RETURN(ca, gate::make_ca(old_dates.common_name));
    cas = ca.certificate + (now > old_dates.not_after ? "" : old_cas);
    folder.replace("ca.pem", cas);
    folder.replace("ca.key", ca.key);
  }

  HONE_ASSIGN_OR_RETURN(std::string own, wire::read_small_file(folder.path("tracker.pem")));
  std::map<std::string, std::string> renewed;  // certificates by their names
  std::vector<std::string> left;
  wire::UnixSeconds until = 0;
  for (const std::string& name : folder.certificates()) {
    if (name == "ca") continue;
    HONE_ASSIGN_OR_RETURN(const std::string certificate, wire::read_small_file(folder.path(name + ".pem")));
    if (!folder.has(name + ".key") || !gate::is_signed_by(certificate, old_cas)) {
      left.push_back(name);
      continue;
    }
    HONE_ASSIGN_OR_RETURN(const gate::KeyPair old, read_pair(folder, name));
    HONE_ASSIGN_OR_RETURN(
        const gate::KeyPair fresh,
        gate::renew_certificate(ca, old, name == "tracker" ? more_hosts : std::vector<std::string>()));
    HONE_ASSIGN_OR_RETURN(const wire::CertificateDates dates, first_dates(fresh.certificate));
    until = dates.not_after;
    folder.replace(name + ".pem", fresh.certificate);
    renewed[name] = fresh.certificate;
    if (name == "tracker") own = fresh.certificate;
  }
  if (renewed.empty())
    return usage_error(fmt::format("{}: none of its certificates is signed by its CA", folder.path("")));
  const auto trackers = addresses_of(gate::hosts_of(own), port ? port : port_of(folder));
  std::map<std::string, std::string> files;
  for (const auto& [name, certificate] : renewed) {
    if (name == "tracker") continue;
    HONE_ASSIGN_OR_RETURN(files[name], renew_fleet_file(folder, name, cas, certificate, trackers, tophub));
  }
  HONE_RETURN_IF_ERROR(folder.write());

  HONE_ASSIGN_OR_RETURN(const wire::CertificateDates dates, first_dates(ca.certificate));
  if (new_ca) print_ca(old_dates, dates, now, out);
  out << fmt::format("# New certificates, valid until {}; keys and tokens are unchanged.\n", wire::date_text(until));
  for (const auto& [name, certificate] : renewed) {
    if (name == "tracker") {
      out << fmt::format("{}: a running tracker reads it within a minute\n", folder.path("tracker.pem"));
      continue;
    }
    const std::string alone = files[name].empty() ? "" : fmt::format(", or {} alone,", files[name]);
    out << fmt::format("{}: copy {}it{} to where it is used, and restart that program\n", folder.path(name + ".pem"),
                       new_ca ? "ca.pem and " : "", alone);
  }
  for (const std::string& name : left)
    out << fmt::format("{}: not renewed: it has no key here, or another CA signed it\n", folder.path(name + ".pem"));
  return absl::OkStatus();
}

}  // namespace hone::tracker
