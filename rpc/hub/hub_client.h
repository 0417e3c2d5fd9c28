// A team's tophub over HTTPS.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "db/team/remote_hub.h"
#include "rpc/http/http_client.h"
#include "rpc/wire/access/credentials.h"

namespace hone::hub {

/// As RemoteHub says, and: Unauthenticated where the service knows neither token nor certificate, which is the user's
/// to mend, too. Asks again by itself where the service is too busy, while there is time.
class HubClient final : public db::RemoteHub {
 public:
  explicit HubClient(std::unique_ptr<http::HttpClient> client) : client_(std::move(client)) {}

  std::string name() const override { return client_->server().text(); }
  std::string tenant() const override;
  StatusOr<db::TeamAnswer> ask(const db::TeamQuery& query) override;
  StatusOr<std::optional<db::PriorRow>> prior(const std::string& target_kind, const std::string& schema) override;
  /// In parts of a few MB, each of them all or nothing.
  Status push(const db::RecordSet& records) override;
  StatusOr<std::vector<db::TeamMiss>> misses(const std::string& target_kind, size_t limit) override;

 private:
  StatusOr<std::string> send(const http::ClientRequest& request);
  Status wrong(const std::string& why) const;
  void note_tenant(const std::string& tenant);
  Status push_lines(const std::string& text);

  const std::unique_ptr<http::HttpClient> client_;
  mutable std::mutex mutex_;  // guards the member below
  std::string tenant_;
};

/// The tophub at `url`, a value of --tophub; nothing is asked yet. The contents of a fleet file go to no host that it
/// does not name. InvalidArgument, one line: a URL or files that cannot be used, or credentials that others could read.
StatusOr<std::shared_ptr<db::RemoteHub>> open_hub(const std::string& url, const wire::CredentialFiles& files,
                                                  bool insecure);

/// The same for other services of the fleet: a client with the credentials that may go there. `flag`: for messages.
StatusOr<std::unique_ptr<http::HttpClient>> open_client(const std::string& url, const wire::CredentialFiles& files,
                                                        bool insecure, const std::string& flag);

}  // namespace hone::hub
