// A board's builds elsewhere: a real tracker, and a builder that answers as each test says, honestly or not.
#include "rpc/agent/supervise/remote_builder.h"

#include <gmock/gmock.h>

#include <fstream>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "rpc/agent/pipe/archive.h"
#include "rpc/wire/access/certificate_dates.h"
#include "rpc/wire/access/key_proof.h"
#include "rpc/wire/agent_client.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_session.h"
#include "tracker/service.h"

namespace hone::agent {
namespace {

using wire::ResultStatus;

const std::string kModule = "bytes of a module", kTarget = "llvm -mcpu=cortex-a72", kCodegen = "llvm-19 1";

// A device "builder" whose answers `answer` makes; without one it is silent.
class ScriptedBuilder {
 public:
  using Answer = std::function<wire::JobResult(const wire::Lease&)>;

  // Without `key` it proves none, whatever its labels say.
  ScriptedBuilder(const wire::Address& tracker, std::map<std::string, std::string> labels,
                  std::optional<wire::SigningKey> key, Answer answer) {
    wire::AgentIdentity identity;
    identity.name = "strong";
    identity.key = std::move(key);
    wire::DeviceInfo device;
    device.key = "strong/builder";
    device.target = wire::kBuilderKind;
    device.labels = std::move(labels);
    identity.devices = {device};
    wire::AgentHandlers handlers;
    handlers.on_refused = [this](const std::string& reason, bool) {
      const std::lock_guard lock(mutex_);
      refused_ = reason;
    };
    handlers.on_leases = [this, answer](const std::vector<wire::Lease>& leases) {
      for (const wire::Lease& lease : leases) {
        {
          const std::lock_guard lock(mutex_);
          leases_.push_back(lease);
        }
        if (answer) client_->result(lease.id, answer(lease));
      }
    };
    client_ = std::make_unique<wire::AgentClient>(wire::ClientOptions{tracker}, identity, handlers);
    client_->want("strong/builder", 100);
  }

  std::vector<wire::Lease> leases() const {
    const std::lock_guard lock(mutex_);
    return leases_;
  }
  std::string refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  wire::AgentClient& client() { return *client_; }

 private:
  mutable std::mutex mutex_;
  std::vector<wire::Lease> leases_;
  std::string refused_;
  std::unique_ptr<wire::AgentClient> client_;
};

class RemoteBuilderTest : public testing::Test {
 protected:
  RemoteBuilderTest() {
    spdlog::set_level(spdlog::level::off);
    server_ =
        tracker::TrackerServer::start(wire::Address::parse("unix:" + path("sock")).value(), {}, clock_, {}).value();
  }
  ~RemoteBuilderTest() override {
    board_.reset();
    builder_.reset();
    server_->stop();
  }

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  // Whether the tracker shows the builder with the label of its key.
  bool carries_its_label() const {
    for (const wire::DeviceStatus& device : server_->status().devices)
      if (device.info.labels.contains(std::string(wire::kBuilderKeyLabel))) return true;
    return false;
  }
  void start_builder(const ScriptedBuilder::Answer& answer) {
    builder_.emplace(server_->address(), builder_labels(key_.public_key(), kCodegen), key_, answer);
    ASSERT_TRUE(eventually([&] { return carries_its_label(); }));
  }
  // Speaks as an agent of the fleet, and says that it has the key.
  void start_rogue(std::optional<wire::SigningKey> key) {
    builder_.emplace(server_->address(), builder_labels(key_.public_key(), kCodegen), std::move(key), nullptr);
    ASSERT_TRUE(builder_->client().wait_open(wire::kPatience).ok());
  }
  void start_board(BuilderPatience::Limits patience = {.first = 1e6, .least = 1e6, .most = 1e6}) {
    RemoteBuilderOptions options{.client = {server_->address()}, .title = "builds for pi4", .codegen = kCodegen};
    options.patience = patience;
    options.tell = [this](const std::string& line) { told_.push_back(line); };
    board_.emplace(io_, options, key_.public_key());
  }

  // Builds `count` modules that are asked for at once.
  std::vector<std::optional<BuildOutcome>> build_all(size_t count, double timeout_s = 10) {
    std::vector<std::optional<BuildOutcome>> out(count);
    size_t done = 0;
    for (size_t i = 0; i < count; ++i)
      asio::co_spawn(
          io_,
          [&, i]() -> awaitable<void> {
            BuildOrder order;
            order.module = std::make_shared<const std::string>(kModule);
            order.timeout_s = timeout_s;
            out[i] = co_await board_->build(order, kTarget, path(std::to_string(++files_) + ".so"));
            ++done;
          },
          asio::detached);
    io_.restart();
    while (done < count) io_.run_one();
    return out;
  }
  std::optional<BuildOutcome> build(double timeout_s = 10) { return build_all(1, timeout_s).at(0); }
  size_t told(const std::string& what) const {
    return std::count_if(told_.begin(), told_.end(),
                         [&](const std::string& line) { return line.find(what) != std::string::npos; });
  }
  // Nothing of a refused answer lies where an object would.
  bool left_a_file() const { return std::ifstream(path(std::to_string(files_) + ".so")).good(); }

  // The answer of an honest builder.
  wire::JobResult honest(const wire::Lease& lease, const wire::SigningKey& key) const {
    wire::JobResult out;
    out.candidates.resize(1);
    out.candidates[0].times = {0.25};
    out.built.emplace();
    out.built->object = "machine code";
    out.built->info = to_bytes(ModuleInfo{.workers = 2});
    sign(key, {wire::sha256(kModule), *lease.job.build}, wire::wall_clock(), *out.built);
    return out;
  }
  wire::JobResult honest(const wire::Lease& lease) const { return honest(lease, key_); }
  // The answer of a builder with that key for a module that cannot be built.
  wire::JobResult refusal(const wire::Lease& lease, const wire::SigningKey& key,
                          ResultStatus status = ResultStatus::kBuildFailed) const {
    wire::JobResult out;
    out.candidates.resize(1);
    out.candidates[0].status = status;
    out.candidates[0].message = "no good";
    sign_refusal(key, {wire::sha256(kModule), *lease.job.build}, wire::wall_clock(), out.candidates[0],
                 out.built.emplace());
    return out;
  }

  void expect_refused(const ScriptedBuilder::Answer& answer) {
    start_builder(answer);
    start_board();
    EXPECT_FALSE(build()) << "it is built here";
    EXPECT_EQ(builder_->leases().size(), 1u) << "it was asked";
    EXPECT_FALSE(left_a_file());
  }

  const TemporaryFolder folder_;
  const SteadyClock clock_;
  const wire::SigningKey key_ = wire::SigningKey::load_or_make(path("key")).value();
  asio::io_context io_;
  std::unique_ptr<tracker::TrackerServer> server_;
  std::optional<ScriptedBuilder> builder_;
  std::optional<RemoteBuilder> board_;
  std::vector<std::string> told_;
  int files_ = 0;
};

TEST_F(RemoteBuilderTest, ASignedObjectIsUsed) {
  start_builder([&](const wire::Lease& lease) { return honest(lease); });
  start_board();
  for (int i = 0; i < 3; ++i) {
    const auto out = build();
    ASSERT_TRUE(out);
    ASSERT_EQ(out->status, ResultStatus::kOk) << out->message;
    EXPECT_EQ(out->seconds, 0.25);
    EXPECT_EQ(out->file->module.info.workers, 2);
    std::ifstream file(out->file->module.path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "machine code");
  }
  const std::vector<wire::Lease> leases = builder_->leases();
  ASSERT_EQ(leases.size(), 3u);
  EXPECT_NE(leases[0].job.build->nonce, leases[1].job.build->nonce);
  EXPECT_EQ(leases[0].job.build->target, kTarget);
  EXPECT_EQ(leases[0].job.build->codegen, kCodegen);
  EXPECT_EQ(leases[0].job.modules[0], wire::blob_id(kModule));
  EXPECT_FALSE(left_a_file()) << "its file went with the last that used it";
}

TEST_F(RemoteBuilderTest, AModulesOwnFailureThatIsSignedIsItsOutcome) {
  for (const ResultStatus status : {ResultStatus::kRejected, ResultStatus::kBuildFailed, ResultStatus::kBuildTimeout}) {
    start_builder([&](const wire::Lease& lease) { return refusal(lease, key_, status); });
    start_board();
    const auto out = build();
    ASSERT_TRUE(out);
    EXPECT_EQ(out->status, status);
    EXPECT_EQ(out->message, "no good");
    EXPECT_FALSE(out->file);
    board_.reset();
    builder_.reset();
  }
}

TEST_F(RemoteBuilderTest, ARefusalThatTheKeyDidNotSignMeansBuiltHere) {
  const wire::SigningKey other = wire::SigningKey::load_or_make(path("other")).value();
  std::optional<wire::JobResult> earlier;
  const std::map<std::string, ScriptedBuilder::Answer> answers = {
      {"unsigned, as older builders say it",
       [&](const wire::Lease& lease) {
         wire::JobResult out = refusal(lease, key_);
         out.built.reset();
         return out;
       }},
      {"of another key", [&](const wire::Lease& lease) { return refusal(lease, other); }},
      {"with another status",
       [&](const wire::Lease& lease) {
         wire::JobResult out = refusal(lease, key_);
         out.candidates[0].status = ResultStatus::kRejected;
         return out;
       }},
      {"with another message",
       [&](const wire::Lease& lease) {
         wire::JobResult out = refusal(lease, key_);
         out.candidates[0].message = "mallory says so";
         return out;
       }},
      {"signed as an object",
       [&](const wire::Lease& lease) {
         wire::JobResult out = refusal(lease, key_);
         sign(key_, {wire::sha256(kModule), *lease.job.build}, wire::wall_clock(), *out.built);
         return out;
       }},
      {"of another module",
       [&](const wire::Lease& lease) {
         wire::JobResult out = refusal(lease, key_);
         sign_refusal(key_, {wire::sha256("another module"), *lease.job.build}, wire::wall_clock(), out.candidates[0],
                      *out.built);
         return out;
       }},
      {"expired",
       [&](const wire::Lease& lease) {
         wire::JobResult out = refusal(lease, key_);
         sign_refusal(key_, {wire::sha256(kModule), *lease.job.build}, wire::wall_clock() - kSignatureSeconds - 5,
                      out.candidates[0], *out.built);
         return out;
       }},
  };
  for (const auto& [what, answer] : answers) {
    start_builder(answer);
    start_board();
    EXPECT_FALSE(build()) << what;
    EXPECT_EQ(builder_->leases().size(), 1u) << what << ": it was asked";
    board_.reset();
    builder_.reset();
  }
}

TEST_F(RemoteBuilderTest, ARefusalOfAnotherBuildIsNone) {
  std::optional<wire::JobResult> first;
  start_builder([&](const wire::Lease& lease) {
    if (!first) first = refusal(lease, key_);
    return *first;
  });
  start_board();
  EXPECT_TRUE(build());
  EXPECT_FALSE(build()) << "the same module for the same target, and a replay";
}

TEST_F(RemoteBuilderTest, ADeviceThatDoesNotProveTheKeyIsNotAskedAndReadsNoModule) {
  start_rogue(std::nullopt);
  start_board({.first = 0.2, .least = 0.2});
  EXPECT_FALSE(build());
  EXPECT_TRUE(builder_->leases().empty());
  EXPECT_FALSE(carries_its_label());
  EXPECT_EQ(server_->status().devices.at(0).info.labels.at("codegen"), kCodegen) << "its other labels stay";
}

TEST_F(RemoteBuilderTest, ADeviceThatProvesAnotherKeyIsTurnedAway) {
  start_rogue(wire::SigningKey::load_or_make(path("other")).value());
  ASSERT_TRUE(eventually([&] { return !builder_->refused().empty(); }));
  EXPECT_THAT(builder_->refused(), testing::HasSubstr("not the one that the label names"));
  start_board({.first = 0.2, .least = 0.2});
  EXPECT_FALSE(build());
  EXPECT_TRUE(builder_->leases().empty());
}

TEST_F(RemoteBuilderTest, AnUnsignedObjectIsRefused) {
  expect_refused([&](const wire::Lease& lease) {
    wire::JobResult out = honest(lease);
    out.built->signature.assign(wire::kSignatureBytes, '\0');
    return out;
  });
}

TEST_F(RemoteBuilderTest, AnAnswerWithoutAnObjectIsRefused) {
  expect_refused([&](const wire::Lease& lease) {
    wire::JobResult out = honest(lease);
    out.built.reset();
    return out;
  });
}

TEST_F(RemoteBuilderTest, AnotherKeysObjectIsRefused) {
  const wire::SigningKey other = wire::SigningKey::load_or_make(path("other")).value();
  expect_refused([&](const wire::Lease& lease) { return honest(lease, other); });
}

TEST_F(RemoteBuilderTest, ASwappedObjectIsRefused) {
  expect_refused([&](const wire::Lease& lease) {
    wire::JobResult out = honest(lease);
    out.built->object = "other code";
    return out;
  });
}

TEST_F(RemoteBuilderTest, AnObjectForAnotherTargetIsRefused) {
  expect_refused([&](wire::Lease lease) {
    lease.job.build->target = "llvm -mcpu=cortex-a53";
    return honest(lease);
  });
}

TEST_F(RemoteBuilderTest, AnObjectOfAnotherModuleIsRefused) {
  expect_refused([&](const wire::Lease& lease) {
    wire::JobResult out = honest(lease);
    sign(key_, {wire::sha256("another module"), *lease.job.build}, wire::wall_clock(), *out.built);
    return out;
  });
}

TEST_F(RemoteBuilderTest, AnExpiredSignatureIsRefused) {
  expect_refused([&](const wire::Lease& lease) {
    wire::JobResult out = honest(lease);
    sign(key_, {wire::sha256(kModule), *lease.job.build}, wire::wall_clock() - kSignatureSeconds - 5, *out.built);
    return out;
  });
}

TEST_F(RemoteBuilderTest, ADescriptionThatNoBuilderGivesIsRefused) {
  expect_refused([&](const wire::Lease& lease) {
    wire::JobResult out = honest(lease);
    out.built->info = to_bytes(ModuleInfo{.workspace_bytes = -1, .workers = 1});
    sign(key_, {wire::sha256(kModule), *lease.job.build}, wire::wall_clock(), *out.built);
    return out;
  });
}

TEST_F(RemoteBuilderTest, AnAnswerFromBeforeIsRefused) {
  std::optional<wire::JobResult> first;
  start_builder([&](const wire::Lease& lease) {
    if (!first) first = honest(lease);
    return *first;
  });
  start_board();
  EXPECT_TRUE(build());
  EXPECT_FALSE(build()) << "the same module for the same target, and a replay";
  EXPECT_EQ(builder_->leases().size(), 2u);
}

TEST_F(RemoteBuilderTest, WithoutABuilderItIsBuiltHere) {
  start_board();
  EXPECT_FALSE(build());
}

TEST_F(RemoteBuilderTest, BuildersOfAnotherKeyOrCompilerAreNotAsked) {
  const wire::SigningKey other = wire::SigningKey::load_or_make(path("other")).value();
  for (const auto& [key, codegen] : {std::pair(&other, kCodegen), std::pair(&key_, std::string("llvm-18"))}) {
    builder_.emplace(server_->address(), builder_labels(key->public_key(), codegen), *key,
                     [&](const wire::Lease& lease) { return honest(lease); });
    ASSERT_TRUE(eventually([&] { return carries_its_label(); }));
    start_board();
    EXPECT_FALSE(build());
    EXPECT_TRUE(builder_->leases().empty());
    board_.reset();
    builder_.reset();
  }
}

TEST_F(RemoteBuilderTest, ASilentBuilderIsWaitedForOnceAndThenNotAskedForAWhile) {
  start_builder(nullptr);
  start_board({.first = 0.2, .least = 0.2, .pause = 1e6});
  EXPECT_FALSE(build());
  EXPECT_EQ(told("let a module wait"), 1u);
  EXPECT_FALSE(build());
  EXPECT_EQ(told("let a module wait"), 1u) << "it was not asked, or it would have let this one wait, too";
}

TEST_F(RemoteBuilderTest, ASilentBuilderIsAskedAgainAfterTheWhile) {
  start_builder(nullptr);
  start_board({.first = 0.2, .least = 0.2, .pause = 0});
  EXPECT_FALSE(build());
  EXPECT_FALSE(build());
  EXPECT_EQ(told("let a module wait"), 2u);
}

TEST_F(RemoteBuilderTest, WhatIsAskedForAtOnceIsGivenUpAtOnce) {
  start_builder(nullptr);
  start_board({.first = 0.2, .least = 0.2, .pause = 1e6});
  for (const auto& out : build_all(6)) EXPECT_FALSE(out);
  EXPECT_EQ(told("let a module wait"), 1u) << "the others end with the first";
}

TEST_F(RemoteBuilderTest, ABuilderThatLeavesIsNotWaitedFor) {
  start_builder(nullptr);
  start_board();
  std::thread leaves([&] {
    EXPECT_TRUE(eventually([&] { return !builder_->leases().empty(); }));
    builder_.reset();
  });
  EXPECT_FALSE(build());
  leaves.join();
}

}  // namespace
}  // namespace hone::agent
