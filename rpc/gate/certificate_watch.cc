#include "rpc/gate/certificate_watch.h"

#include <algorithm>

#include "base/log.h"
#include "rpc/wire/access/secret_file.h"

namespace hone::gate {
namespace {

constexpr auto kLookEvery = std::chrono::minutes(1);

struct Watched {
  const char *name, *flag;
  std::string ServerTls::*path;
  bool first_only;  // in a chain the others are its CAs
};
constexpr Watched kWatched[] = {{"server", "--tls-cert", &ServerTls::certificate, true},
                                {"client_ca", "--tls-client-ca", &ServerTls::client_ca, false}};

}  // namespace

CertificateWatch::CertificateWatch(ServerTls files, const Clock& clock, std::function<wire::UnixSeconds()> today,
                                   Sink sink)
    : files_(std::move(files)),
      clock_(clock),
      today_(std::move(today)),
      sink_(sink ? std::move(sink) : [](const std::string& line) { log::warn("{}", line); }) {}

void CertificateWatch::look() {
  const auto now = clock_.now();
  if (looked_ && now - *looked_ < kLookEvery) return;
  looked_ = now;
  std::vector<wire::NamedCertificate> all;
  for (const Watched& watched : kWatched) {
    const std::string& path = files_.*watched.path;
    if (path.empty()) continue;
    const auto text = wire::read_small_file(path);
    auto dates = text.ok() ? wire::certificate_dates(*text) : text.status();
    if (dates.ok()) {
      if (watched.first_only) dates->resize(1);
      auto& known = known_[watched.name];
      known.clear();
      for (const wire::CertificateDates& one : *dates) known.push_back({watched.flag + (" " + path), one});
    }
    all.insert(all.end(), known_[watched.name].begin(), known_[watched.name].end());
  }
  for (const std::string& line : reminder_.due(all, today_())) sink_(line);
  std::lock_guard lock(mutex_);
  for (const auto& [name, known] : known_)
    if (!known.empty())
      ends_[name] = std::min_element(known.begin(), known.end(), [](const auto& a, const auto& b) {
                      return a.dates.not_after < b.dates.not_after;
                    })->dates.not_after;
}

std::map<std::string, wire::UnixSeconds> CertificateWatch::ends() const {
  std::lock_guard lock(mutex_);
  return ends_;
}

}  // namespace hone::gate
