#include "rpc/agent/builder_folder.h"

#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>

#include <filesystem>

namespace hone::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLook{100};

}  // namespace

Status BuilderFolder::clear() const {
  std::error_code error;
  if (fs::create_directory(path_, error)) {
    fs::permissions(path_, fs::perms::owner_all, error);
  } else if (!error) {
    for (auto i = fs::directory_iterator(path_, error); !error && i != fs::directory_iterator(); i.increment(error)) {
      std::error_code ignored;
      fs::remove_all(i->path(), ignored);
    }
  }
  return error ? absl::InternalError(fmt::format("cannot clear {}: {}", path_, error.message())) : absl::OkStatus();
}

Status BuilderFolder::accept(const std::string& name, const std::string& to) const {
  const std::string from = path_ + "/" + name;
  struct stat info{};
  if (lstat(from.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return absl::InternalError("the compiler left no artifact");
  if (chmod(from.c_str(), S_IRUSR) != 0 || rename(from.c_str(), to.c_str()) != 0) return absl::InternalError("the artifact could not be moved");
  return absl::OkStatus();
}

uint64_t BuilderFolder::bytes() const {
  uint64_t sum = 0;
  std::error_code error;
  for (auto i = fs::recursive_directory_iterator(path_, error); !error && i != fs::recursive_directory_iterator(); i.increment(error)) {
    struct stat info{};
    if (lstat(i->path().c_str(), &info) == 0) sum += static_cast<uint64_t>(info.st_blocks) * 512;
  }
  return sum;
}

awaitable<void> watch_folder(asio::io_context& io, BuilderFolder folder, std::weak_ptr<Worker> worker, std::shared_ptr<FolderWatch> watch) {
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
