// Builds of this device's modules on another machine, whose key the owner of this one trusts: sessions of the tracker
// with devices that build.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "rpc/agent/supervise/builder_patience.h"
#include "rpc/agent/supervise/measurer.h"
#include "rpc/agent/supervise/signed_object.h"
#include "rpc/wire/client_options.h"

namespace hone::agent {

struct RemoteBuilderOptions {
  wire::ClientOptions client;
  std::string title;    ///< shown to people
  std::string codegen;  ///< of this machine's own builder; others are not asked
  BuilderPatience::Limits patience = {};
  std::function<void(const std::string&)> tell = {};  ///< gets news for people, one line each; empty: no listener
};

/// The labels by which boards find the builders that they trust.
std::map<std::string, std::string> builder_labels(const wire::PublicKey& key, const std::string& codegen);

class RemoteBuilder final : public BuilderElsewhere {
 public:
  /// Starts to connect at once. The io_context outlives it.
  RemoteBuilder(asio::io_context& io, RemoteBuilderOptions options, wire::PublicKey key);
  ~RemoteBuilder() override;

  /// Nothing where no such builder is connected, none answers in time (then none is asked for a while, and other builds
  /// that were asked for are not waited for either), or an answer, refusal or object, is not the signed one that was
  /// asked for: that one is logged, and not used.
  awaitable<std::optional<BuildOutcome>> build(const BuildOrder& order, const std::string& target,
                                               const std::string& path) override;

 private:
  struct Pending;
  class Connection;

  awaitable<void> wait_for_builders();
  awaitable<void> wait_for_answer(std::shared_ptr<Pending> pending, double limit_s);
  std::optional<BuildOutcome> outcome_of(const Pending& pending, const std::string& path) const;
  std::optional<BuildOutcome> object_of(const wire::JobResult& result, const AskedObject& asked,
                                        const std::string& path) const;

  asio::io_context& io_;
  const RemoteBuilderOptions options_;
  const wire::PublicKey key_;
  const SteadyClock clock_;
  BuilderPatience patience_;
  const std::chrono::steady_clock::time_point first_word_until_;  ///< how long the tracker's is waited for
  const Hash128 salt_;  ///< of scopes: other machines do not learn the names of sessions
  std::unique_ptr<Connection> connection_;
};

}  // namespace hone::agent
