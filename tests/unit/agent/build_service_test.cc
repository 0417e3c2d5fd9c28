#include "rpc/agent/supervise/build_service.h"

#include <gmock/gmock.h>

#include <fstream>

#include "rpc/agent/pipe/archive.h"
#include "rpc/wire/access/certificate_dates.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::LeaseId;
using wire::ResultStatus;

// Writes an object that names the module and the target; builds wait while `blocked`.
class FileBuilder final : public Measurer {
 public:
  FileBuilder(asio::io_context& io, std::string folder) : gate_(io), folder_(std::move(folder)) {}

  awaitable<BuildOutcome> build(BuildOrder order) override {
    orders.push_back(order);
    while (blocked) co_await gate_.wait();
    BuildOutcome out;
    out.seconds = 0.5;
    if (order.module->starts_with("bad")) {
      out.status = ResultStatus::kRejected;
      out.message = "no good,\nit says";
      co_return out;
    }
    auto file = std::make_shared<BuiltFile>();
    file->module.path = folder_ + "/" + std::to_string(orders.size());
    std::ofstream(file->module.path) << *order.module << " for " << order.target << std::string(padding, ' ');
    file->module.info.workers = 3;
    out.file = std::move(file);
    co_return out;
  }
  awaitable<RunReply> run(RunRequest) override { co_return RunReply{}; }
  void cancel_run() override {}
  void unblock() {
    blocked = false;
    gate_.notify();
  }

  std::vector<BuildOrder> orders;
  bool blocked = false;
  size_t padding = 0;

 private:
  Event gate_;
  const std::string folder_;
};

class BuildServiceTest : public testing::Test {
 protected:
  BuildServiceTest() {
    TrackerLink link;
    link.want = [this](uint32_t n) { wanted += n; };
    link.result = [this](const LeaseId& id, wire::JobResult r) { results[id.seq] = std::move(r); };
    link.give_back = [this](const std::vector<LeaseId>& ids, const std::string&) {
      for (const LeaseId& id : ids) returned.push_back(id.seq);
    };
    link.request_blobs = [this](const std::vector<Hash128>& hashes, const TrackerLink::BlobReply& reply) {
      asked += hashes.size();
      held.push_back([this, hashes, reply] {
        std::vector<wire::Blob> found;
        std::vector<Hash128> missing;
        for (const Hash128 h : hashes) {
          if (blobs.contains(h))
            found.push_back({h, blobs[h]});
          else
            missing.push_back(h);
        }
        reply(found, missing);
      });
      if (!hold_blobs) send_blobs();
    };
    BuildServiceOptions options;
    options.device = "strong/builder";
    options.codegen = "llvm-19";
    options.slots = 4;
    options.most_build_s = 20;
    service.emplace(io, options, link, measurer, key_);
    service->start();
  }

  wire::Lease lease(uint64_t seq, const std::string& module, uint8_t session = 1) {
    wire::Lease l;
    l.id.seq = l.job.seq = seq;
    l.id.session.value[0] = session;
    blobs[wire::blob_id(module)] = module;
    l.job.modules = {wire::blob_id(module)};
    l.job.build = wire::BuildPayload{"llvm -mcpu=cortex-a72", "llvm-19", std::string(wire::kNonceBytes, 'n'), {}};
    return l;
  }
  void settle() {
    io.restart();
    io.poll();
  }
  void send_blobs() {
    for (const auto& send : std::exchange(held, {})) send();
  }
  void give(std::vector<wire::Lease> leases) {
    service->on_leases(std::move(leases));
    settle();
  }

  asio::io_context io;
  const TemporaryFolder folder_;
  const wire::SigningKey key_ = wire::SigningKey::load_or_make(folder_.path() + "/key").value();
  FileBuilder measurer{io, folder_.path()};
  std::map<Hash128, std::string> blobs;
  std::vector<std::function<void()>> held;
  bool hold_blobs = false;
  size_t asked = 0;
  uint32_t wanted = 0;
  std::map<uint64_t, wire::JobResult> results;
  std::vector<uint64_t> returned;
  std::optional<BuildService> service;
};

TEST_F(BuildServiceTest, AnswersWithASignedObject) {
  EXPECT_EQ(wanted, 4u);
  wire::Lease l = lease(1, "a module");
  l.job.profile.build_timeout_s = 100;
  give({l});
  ASSERT_TRUE(results.contains(1));
  const wire::JobResult& r = results[1];
  ASSERT_EQ(r.candidates[0].status, ResultStatus::kOk) << r.candidates[0].message;
  EXPECT_THAT(r.candidates[0].times, ElementsAre(0.5));
  ASSERT_TRUE(r.built);
  EXPECT_EQ(r.built->object, "a module for llvm -mcpu=cortex-a72");
  EXPECT_EQ(from_bytes<ModuleInfo>(r.built->info)->workers, 3);
  EXPECT_TRUE(
      check_signed(key_.public_key(), {wire::sha256("a module"), *l.job.build}, wire::wall_clock(), *r.built).ok());
  EXPECT_EQ(measurer.orders[0].timeout_s, 20) << "this agent's limit";
  EXPECT_EQ(wanted, 5u);
}

TEST_F(BuildServiceTest, SignsThatAModuleCannotBeBuilt) {
  const wire::Lease l = lease(1, "bad\nmodule");
  give({l});
  const wire::JobResult& r = results.at(1);
  EXPECT_EQ(r.candidates[0].status, ResultStatus::kRejected);
  EXPECT_EQ(r.candidates[0].message, "no good, it says") << "as it arrives: one line";
  ASSERT_TRUE(r.built);
  EXPECT_TRUE(r.built->object.empty() && r.built->info.empty());
  const AskedObject asked{wire::sha256("bad\nmodule"), *l.job.build};
  const auto check = [&](const wire::CandidateResult& why) {
    return check_refusal(key_.public_key(), asked, wire::wall_clock(), why, *r.built);
  };
  EXPECT_TRUE(check(r.candidates[0]).ok());
  wire::CandidateResult other = r.candidates[0];
  other.message += "!";
  EXPECT_FALSE(check(other).ok());
  EXPECT_FALSE(check_signed(key_.public_key(), asked, wire::wall_clock(), *r.built).ok()) << "it is not an object";
}

TEST_F(BuildServiceTest, WhatIsNotAboutTheModuleIsNotSigned) {
  wire::Lease other = lease(2, "fine");
  other.job.build->codegen = "llvm-18";
  wire::Lease measured = lease(3, "fine");
  measured.job.build.reset();
  wire::Lease gone = lease(4, "lost");
  blobs.erase(wire::blob_id("lost"));
  wire::Lease gpu = lease(6, "fine");
  gpu.job.build->target = "cuda -arch=sm_90";
  give({lease(1, "bad"), other, measured, gone, gpu});
  ASSERT_THAT(results, SizeIs(5));
  EXPECT_THAT(results[6].candidates[0].message, HasSubstr("for CPUs alone"));
  EXPECT_THAT(measurer.orders, SizeIs(1)) << "only what can be built is";
  EXPECT_EQ(results[1].candidates[0].status, ResultStatus::kRejected);
  EXPECT_EQ(results[1].candidates[0].message, "no good, it says");
  EXPECT_THAT(results[2].candidates[0].message, HasSubstr("code generator is llvm-19, not llvm-18"));
  EXPECT_THAT(results[3].candidates[0].message, HasSubstr("measures nothing"));
  EXPECT_THAT(results[4].candidates[0].message, HasSubstr("neither at the tracker nor at the board"));
  for (const auto& [seq, r] : results) EXPECT_EQ(r.built.has_value(), seq == 1) << seq;
  measurer.padding = wire::kMaxObjectBytes;
  give({lease(5, "large")});
  EXPECT_EQ(results[5].candidates[0].status, ResultStatus::kRunFailed);
  EXPECT_THAT(results[5].candidates[0].message, HasSubstr("at most 1048576 are sent"));
  EXPECT_FALSE(results[5].built);
}

TEST_F(BuildServiceTest, NoProcessServesTwoSessionsOrScopes) {
  wire::Lease scoped = lease(2, "m");
  scoped.job.build->scope = wire::blob_id("another session of the same board");
  give({lease(1, "m"), scoped, lease(3, "m", 2), lease(4, "n")});
  ASSERT_THAT(measurer.orders, SizeIs(4));
  std::map<std::string, int> sessions;
  for (const BuildOrder& order : measurer.orders) ++sessions[order.session.text()];
  EXPECT_THAT(sessions, SizeIs(3));
  EXPECT_EQ(asked, 2u) << "one question for a module";
}

TEST_F(BuildServiceTest, WhatIsCancelledIsNotAnswered) {
  measurer.blocked = true;
  hold_blobs = true;
  give({lease(1, "m")});
  send_blobs();
  settle();
  give({lease(2, "n")});
  LeaseId first, second;
  first.seq = 1, second.seq = 2;
  first.session.value[0] = second.session.value[0] = 1;
  service->on_cancel({first, second});
  measurer.unblock();
  send_blobs();
  settle();
  EXPECT_THAT(results, IsEmpty());
  EXPECT_EQ(wanted, 6u);
}

TEST_F(BuildServiceTest, GivesBackWhatHasNotBegunAndFinishesTheRest) {
  measurer.blocked = true;
  hold_blobs = true;
  give({lease(1, "m")});
  send_blobs();
  settle();
  give({lease(2, "n"), lease(3, "o")});
  LeaseId second, first;
  first.seq = 1, second.seq = 2;
  first.session.value[0] = second.session.value[0] = 1;
  service->on_take_back({first, second});
  EXPECT_THAT(returned, ElementsAre(2));
  EXPECT_EQ(wanted, 5u);
  bool drained = false;
  service->drain([&] { drained = true; });
  EXPECT_THAT(returned, ElementsAre(2, 3));
  EXPECT_FALSE(drained);
  give({lease(4, "p")});
  EXPECT_THAT(returned, ElementsAre(2, 3, 4)) << "it is leaving";
  measurer.unblock();
  settle();
  EXPECT_TRUE(drained);
  EXPECT_THAT(results, SizeIs(1));
  EXPECT_EQ(wanted, 5u);
}

}  // namespace
}  // namespace hone::agent
