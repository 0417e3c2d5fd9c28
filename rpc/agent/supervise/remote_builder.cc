#include "rpc/agent/supervise/remote_builder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>

#include "base/log.h"
#include "base/secure_hash.h"
#include "rpc/agent/pipe/archive.h"
#include "rpc/wire/access/certificate_dates.h"
#include "rpc/wire/access/key_proof.h"
#include "rpc/wire/session_client.h"

namespace hone::agent {
namespace {

using wire::ResultStatus;

constexpr std::chrono::seconds kFirstWord{3};  // of the tracker about builders, from the start

// All of `bytes` in a new file that only its owner reads, as BuilderFolder::accept leaves them.
Status write_object(const std::string& path, const std::string& bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
  if (fd < 0) return absl::InternalError(std::strerror(errno));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  const int error = errno;
  close(fd);
  if (done == bytes.size()) return absl::OkStatus();
  unlink(path.c_str());
  return absl::InternalError(std::strerror(error));
}

}  // namespace

std::map<std::string, std::string> builder_labels(const wire::PublicKey& key, const std::string& codegen) {
  return {{std::string(wire::kBuilderKeyLabel), key.fingerprint()}, {"codegen", codegen}};
}

// A build that was asked for, until its answer came or is not waited for.
struct RemoteBuilder::Pending {
  Pending(asio::io_context& io, AskedObject a) : asked(std::move(a)), timer(io) {}
  // Its wait is over: it was answered, or is not going to be.
  void end() {
    over = true;
    timer.cancel();
  }
  const AskedObject asked;
  asio::steady_timer timer;
  bool over = false;
  std::optional<wire::JobResult> result;
};

// The session with builders. Events of its client's thread are posted to ours.
class RemoteBuilder::Connection {
 public:
  Connection(asio::io_context& io, const RemoteBuilderOptions& options, const wire::PublicKey& key)
      : io_(io), tell_(options.tell) {
    wire::SessionOpen open;
    open.session = wire::Uuid::random();
    open.title = options.title;
    open.target_kind = wire::kBuilderKind;
    for (const auto& [name, value] : builder_labels(key, options.codegen)) open.labels.push_back(name + "=" + value);
    wire::SessionHandlers handlers;
    handlers.on_results = posted(&Connection::on_results);
    handlers.on_devices = posted(&Connection::on_devices);
    handlers.on_refused = posted(&Connection::on_refused);
    handlers.blob = [modules = modules_](Hash128 hash) { return modules->find(hash); };
    client_ = std::make_unique<wire::SessionClient>(options.client, open, handlers);
  }
  ~Connection() { client_.reset(); }  // no handler runs afterwards; posted events find no receiver

  // Whether the tracker has said who builds, or that nobody does.
  bool knows_builders() const { return knows_builders_; }
  bool has_builders() const { return builders_ > 0; }

  std::shared_ptr<Pending> ask(AskedObject asked, const std::shared_ptr<const std::string>& module, double timeout_s) {
    const uint64_t seq = ++seqs_;
    wire::Job job;
    job.seq = seq;
    job.modules = {wire::blob_id(*module)};
    job.build = asked.build;
    job.profile.build_timeout_s = timeout_s;
    modules_->keep(job.modules[0], module);
    auto pending = std::make_shared<Pending>(io_, std::move(asked));
    pending_[seq] = {pending, job.modules[0]};
    client_->submit({std::move(job)});
    return pending;
  }

  // None of the answers that are waited for will come.
  void end_all() {
    for (auto& [seq, entry] : pending_) entry.pending->end();
  }

  // Its answer is no longer waited for, or has been taken.
  void forget(const std::shared_ptr<Pending>& pending) {
    const auto found =
        std::find_if(pending_.begin(), pending_.end(), [&](const auto& one) { return one.second.pending == pending; });
    if (found == pending_.end()) return;
    if (!pending->result) client_->cancel({found->first});
    modules_->drop(found->second.module);
    pending_.erase(found);
  }

 private:
  // Modules that builders may ask for; the client's thread reads them.
  class Modules {
   public:
    void keep(Hash128 hash, std::shared_ptr<const std::string> module) {
      const std::lock_guard lock(mutex_);
      Kept& kept = kept_[hash];
      kept.module = std::move(module);
      ++kept.users;
    }
    void drop(Hash128 hash) {
      const std::lock_guard lock(mutex_);
      const auto found = kept_.find(hash);
      if (found != kept_.end() && --found->second.users == 0) kept_.erase(found);
    }
    std::optional<std::string> find(Hash128 hash) {
      const std::lock_guard lock(mutex_);
      const auto found = kept_.find(hash);
      return found == kept_.end() ? std::nullopt : std::optional(*found->second.module);
    }

   private:
    struct Kept {
      std::shared_ptr<const std::string> module;
      int users = 0;
    };
    std::mutex mutex_;
    std::map<Hash128, Kept> kept_;
  };
  struct Entry {
    std::shared_ptr<Pending> pending;
    Hash128 module;
  };

  template <class... Args>
  std::function<void(Args...)> posted(void (Connection::*handler)(Args...)) {
    return [&io = io_, weak = std::weak_ptr(alive_), handler](Args... args) {
      asio::post(io, [weak, handler, tuple = std::make_tuple(std::move(args)...)]() mutable {
        if (const auto alive = weak.lock())
          std::apply([&](auto&... a) { ((*alive)->*handler)(std::move(a)...); }, tuple);
      });
    };
  }

  void on_results(std::vector<wire::JobResult> results) {
    std::vector<uint64_t> seqs;
    for (wire::JobResult& result : results) {
      seqs.push_back(result.seq);
      const auto found = pending_.find(result.seq);
      if (found == pending_.end()) continue;
      found->second.pending->result = std::move(result);
      found->second.pending->end();
    }
    client_->ack(std::move(seqs));
  }

  void on_devices(std::vector<wire::DeviceInfo> devices) {
    if (tell_ && (devices.size() != builders_ || !knows_builders_))
      tell_(devices.empty() ? "no trusted builder is connected: modules are built here"
                            : fmt::format("modules are built by {}{}", devices[0].key,
                                          devices.size() > 1 ? fmt::format(" and {} more", devices.size() - 1) : ""));
    knows_builders_ = true;
    builders_ = devices.size();
    if (devices.empty()) end_all();
  }

  void on_refused(std::string reason, bool retry) {
    log::warn("the tracker gives this machine no builders: {}{}", reason, retry ? "; trying again" : "");
    knows_builders_ = true;
    if (!retry) on_devices({});
  }

  asio::io_context& io_;
  const std::function<void(const std::string&)> tell_;
  const std::shared_ptr<Modules> modules_ = std::make_shared<Modules>();
  std::map<uint64_t, Entry> pending_;
  uint64_t seqs_ = 0;
  size_t builders_ = 0;
  bool knows_builders_ = false;
  std::shared_ptr<Connection*> alive_ = std::make_shared<Connection*>(this);
  std::unique_ptr<wire::SessionClient> client_;
};

RemoteBuilder::RemoteBuilder(asio::io_context& io, RemoteBuilderOptions options, wire::PublicKey key)
    : io_(io),
      options_(std::move(options)),
      key_(std::move(key)),
      patience_(options_.patience),
      first_word_until_(std::chrono::steady_clock::now() + kFirstWord),
      salt_(secure_hash(wire::random_bytes(32))),
      connection_(std::make_unique<Connection>(io, options_, key_)) {}

RemoteBuilder::~RemoteBuilder() = default;

// Modules that come right after the start are not built here for want of the tracker's first word.
awaitable<void> RemoteBuilder::wait_for_builders() {
  asio::steady_timer timer(io_);
  while (!connection_->knows_builders() && std::chrono::steady_clock::now() < first_word_until_) {
    boost::system::error_code ignored;
    timer.expires_after(std::chrono::milliseconds(20));
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

awaitable<std::optional<BuildOutcome>> RemoteBuilder::build(const BuildOrder& order, const std::string& target,
                                                            const std::string& path) {
  co_await wait_for_builders();
  if (!connection_->has_builders() || !patience_.asks(clock_.now())) co_return std::nullopt;
  AskedObject asked;
  asked.module_sha256 = wire::sha256(*order.module);
  asked.build.target = target;
  asked.build.codegen = options_.codegen;
  asked.build.nonce = wire::random_bytes(wire::kNonceBytes);
  asked.build.scope = secure_hash(salt_.bytes() + order.session.bytes());
  const std::shared_ptr<Pending> pending = connection_->ask(std::move(asked), order.module, order.timeout_s);
  co_await wait_for_answer(pending, order.timeout_s);
  connection_->forget(pending);
  co_return outcome_of(*pending, path);
}

// Which builder has a module is the tracker's business: if one lets a board wait, none is asked for a while, and builds
// that were asked for beside it are given up with it, or each would wait as long.
awaitable<void> RemoteBuilder::wait_for_answer(std::shared_ptr<Pending> pending, double limit_s) {
  const Clock::TimePoint asked = clock_.now();
  for (Clock::TimePoint now = asked; !pending->over; now = clock_.now()) {
    const Clock::TimePoint until = patience_.until(asked, limit_s);
    if (now < until) {
      boost::system::error_code ignored;
      pending->timer.expires_at(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(until));
      co_await pending->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      continue;
    }
    patience_.in_vain(asked, now);
    const std::string line =
        fmt::format("a builder let a module wait for {:.1f} s: modules are built here for {:.0f} s",
                    std::chrono::duration<double>(now - asked).count(), options_.patience.pause);
    options_.tell ? options_.tell(line) : log::warn("{}", line);
    connection_->end_all();
  }
  if (pending->result) patience_.answered(asked, clock_.now());
}

// Nothing if the answer is not known to be the builder's, or says nothing about the module, which is then built here.
std::optional<BuildOutcome> RemoteBuilder::outcome_of(const Pending& pending, const std::string& path) const {
  if (!pending.result) return std::nullopt;
  const wire::JobResult& result = *pending.result;
  const wire::CandidateResult& c = result.candidates.at(0);
  if (c.status == ResultStatus::kOk) return object_of(result, pending.asked, path);
  if (!is_of_the_module(c.status)) {
    log::info("{} did not build a module, it is built here: {}", result.device, c.message);
    return std::nullopt;
  }
  const Status trusted = result.built ? check_refusal(key_, pending.asked, wire::wall_clock(), c, *result.built)
                                      : absl::PermissionDeniedError("it is not signed");
  if (!trusted.ok()) {
    log::warn("{} answered that a module is {}, which is not trusted: {}; it is built here", result.device,
              wire::name(c.status), message_of(trusted));
    return std::nullopt;
  }
  BuildOutcome out;
  out.status = c.status;
  out.message = c.message;
  return out;
}

std::optional<BuildOutcome> RemoteBuilder::object_of(const wire::JobResult& result, const AskedObject& asked,
                                                     const std::string& path) const {
  const auto refused = [&](std::string_view why) {
    log::warn("an object from {} is not used, its module is built here: {}", result.device, why);
    return std::nullopt;
  };
  if (!result.built) return refused("the answer has no object");
  if (const Status trusted = check_signed(key_, asked, wire::wall_clock(), *result.built); !trusted.ok())
    return refused(message_of(trusted));
  StatusOr<ModuleInfo> info = from_bytes<ModuleInfo>(result.built->info);
  BuildReply reply;
  if (info.ok()) reply.info = *info;
  if (!info.ok() || !believable(reply)) return refused("its description is malformed");
  if (const Status written = write_object(path, result.built->object); !written.ok())
    return refused(message_of(written));
  BuildOutcome out;
  auto file = std::make_shared<BuiltFile>();
  file->module.path = path;
  file->module.info = *std::move(info);
  out.file = std::move(file);
  const std::vector<double>& times = result.candidates[0].times;
  out.seconds = times.empty() ? 0 : times[0];
  return out;
}

}  // namespace hone::agent
