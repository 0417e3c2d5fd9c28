// A HostMeasurer with its real processes.
#pragma once

#include <gmock/gmock.h>
#include <memory>
#include <optional>
#include <string>

#include "rpc/agent/supervise/host_measurer.h"
#include "rpc/ir/encode.h"
#include "tests/e2e/agent/add_module.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::agent {

using wire::ResultStatus;

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    setenv("HONE_HOST_LOCK", lock_path_.c_str(), 1);
    StatusOr<ScratchFolder> folder = ScratchFolder::make();
    EXPECT_TRUE(folder.ok()) << folder.status();
    folder_ = folder->path();
    HostOptions options;
    options.threads = 2;
    options.builders = 2;
    measurer_ = std::make_unique<HostMeasurer>(io_, options, std::move(*folder));
    const StatusOr<HostInfo> info = await(measurer_->start());
    EXPECT_TRUE(info.ok()) << info.status();
    if (info.ok()) info_ = *info;
  }

  /// Runs the event loop until `a` is done.
  template <class T>
  T await(awaitable<T> a) {
    std::optional<T> result;
    asio::co_spawn(io_, std::move(a), [&](std::exception_ptr e, T value) {
      if (e) std::rethrow_exception(e);
      result.emplace(std::move(value));
    });
    io_.restart();
    while (!result && io_.run_one() > 0) {
    }
    return std::move(*result);
  }

  BuildOutcome build(const Module& m, double timeout_s = 60, BuildPurpose purpose = BuildPurpose::kCandidate) {
    return build_bytes(encode(m), timeout_s, purpose);
  }
  BuildOutcome build_bytes(std::string bytes, double timeout_s = 60, BuildPurpose purpose = BuildPurpose::kCandidate) {
    return await(
        measurer_->build({std::make_shared<const std::string>(std::move(bytes)), purpose, timeout_s, session_}));
  }
  std::shared_ptr<const BuiltFile> built(const Module& m) {
    BuildOutcome out = build(m);
    EXPECT_EQ(out.status, ResultStatus::kOk) << out.message;
    return out.file;
  }

  /// A request for candidates that add, with the reference of all elements.
  RunRequest request(std::vector<BuiltModule> candidates) {
    if (!reference_) reference_ = built(add_reference());
    RunRequest r;
    r.candidates = std::move(candidates);
    r.seed = 11;
    r.profile.run_timeout_s = 30;
    r.reference = ReferenceRequest{reference_->module, Hash128{1, 1}, {{}}, 30};
    return r;
  }
  wire::CandidateResult run(const BuiltModule& candidate) { return run_all(request({candidate})).candidates.at(0); }
  RunReply run_all(RunRequest r) { return await(measurer_->run(std::move(r))); }

  const TemporaryFolder locks_;  ///< of the host and its devices
  const std::string lock_path_ = locks_.path() + "/lock";
  asio::io_context io_;
  std::string folder_;
  wire::Uuid session_;  ///< of what is built
  std::unique_ptr<HostMeasurer> measurer_;
  HostInfo info_;
  std::shared_ptr<const BuiltFile> reference_;
};

}  // namespace hone::agent
