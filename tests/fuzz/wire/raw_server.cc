#include "tests/fuzz/wire/raw_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <mutex>

#include "base/check.h"
#include "rpc/wire/access/channel.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::fuzz {
namespace {

// The messages left to be sent, over the next connections.
struct Script {
  std::mutex mutex;
  std::vector<std::string> messages;
  size_t next = 0;

  /// False when all was said on this connection.
  bool take(bool* said_last, grpc::ByteBuffer* out) {
    const std::lock_guard lock(mutex);
    if (messages.empty() || *said_last) return false;
    const size_t at = std::min(next, messages.size() - 1);
    *said_last = at + 1 == messages.size();
    ++next;
    const grpc::Slice slice(messages[at]);
    *out = grpc::ByteBuffer(&slice, 1);
    return true;
  }
};

class Stream final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Stream(Script& script) : script_(script) {
    StartRead(&in_);
    say();
  }
  void OnReadDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    if (!ok) return end_locked();
    if (!ended_) StartRead(&in_);
  }
  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
      if (!ok || leaving_) return end_locked();
    }
    say();
  }
  void OnDone() override { delete this; }

 private:
  void say() {
    const std::lock_guard lock(mutex_);
    if (ended_ || !script_.take(&said_last_, &out_)) return;  // it stays open until the other side leaves
    writing_ = true;
    StartWrite(&out_);
  }
  void end_locked() {
    leaving_ = true;
    if (writing_ || ended_) return;
    ended_ = true;
    Finish(grpc::Status::OK);
  }

  Script& script_;
  grpc::ByteBuffer in_, out_;
  std::mutex mutex_;
  bool said_last_ = false, writing_ = false, leaving_ = false, ended_ = false;
};

}  // namespace

struct RawServer::Impl final : grpc::CallbackGenericService {
  wire::Address address;
  Script script;
  std::unique_ptr<grpc::Server> server;

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Stream(script);
  }
};

RawServer& RawServer::shared() {
  static const TemporaryFolder folder;
  static auto* const server = new RawServer(folder.path() + "/socket");
  return *server;
}

RawServer::RawServer(const std::string& socket) : impl_(new Impl) {
  wire::prepare_grpc();
  impl_->address.path = socket;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(wire::grpc_name(impl_->address), grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(impl_);
  impl_->server = builder.BuildAndStart();
  HONE_ICHECK(impl_->server) << "the hostile tracker cannot listen on " << impl_->address.path;
}

const wire::Address& RawServer::address() const { return impl_->address; }

void RawServer::play(std::vector<std::string> messages) {
  const std::lock_guard lock(impl_->script.mutex);
  impl_->script.messages = std::move(messages);
  impl_->script.next = 0;
}

}  // namespace hone::fuzz
