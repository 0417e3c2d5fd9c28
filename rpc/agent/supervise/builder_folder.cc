#include "rpc/agent/supervise/builder_folder.h"

#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>

#include <filesystem>

#include "rpc/agent/pipe/folder.h"

namespace hone::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLook{100};

}  // namespace

Status BuilderFolder::clear() const {
  std::error_code error;
  if (!fs::create_directory(path_, error))
    return error ? absl::InternalError(fmt::format("cannot make {}: {}", path_, error.message())) : empty_folder(path_);
  fs::permissions(path_, fs::perms::owner_all, error);
  return error ? absl::InternalError(fmt::format("cannot make {} private: {}", path_, error.message()))
               : absl::OkStatus();
}

Status BuilderFolder::accept(const std::string& name, const std::string& to) const {
  const std::string from = path_ + "/" + name;
  struct stat info {};
  if (lstat(from.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return absl::InternalError("the compiler left no artifact");
  if (chmod(from.c_str(), S_IRUSR) != 0 || rename(from.c_str(), to.c_str()) != 0)
    return absl::InternalError("the artifact could not be moved");
  return absl::OkStatus();
}

uint64_t BuilderFolder::bytes() const { return folder_bytes(path_); }

awaitable<void> watch_folder(asio::io_context& io, BuilderFolder folder, std::weak_ptr<Worker> worker,
                             std::shared_ptr<FolderWatch> watch) {
  asio::steady_timer timer(io);
  for (;;) {
    timer.expires_after(kLook);
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    const std::shared_ptr<Worker> alive = worker.lock();
    if (watch->over || !alive) co_return;
    if (folder.bytes() <= BuilderFolder::kMaxBytes) continue;
    watch->filled = true;
    alive->kill();
    co_return;
  }
}

}  // namespace hone::agent
