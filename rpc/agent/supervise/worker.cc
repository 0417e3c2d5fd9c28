#include "rpc/agent/supervise/worker.h"

#include "compiler/target/gpu_kinds.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>

namespace hone::agent {

using boost::system::error_code;

namespace {

// Environment variables for the host lock, libraries, drivers, visible GPUs, logging and sanitizers.
std::vector<std::string> passed_environment() {
  std::vector<std::string> out;
  const auto pass = [&](const char* name) {
    if (const char* value = std::getenv(name)) out.push_back(std::string(name) + "=" + value);
  };
  for (const char* name : {"HONE_HOST_LOCK", "XDG_RUNTIME_DIR", "HONE_LOG", "NO_COLOR", "LD_LIBRARY_PATH",
                           "HONE_GPU_SANDBOX", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"})
    pass(name);
  for (const GpuKind& kind : gpu_kinds())
    for (const char* name : kind.settings) pass(name);
  return out;
}

}  // namespace

StatusOr<std::shared_ptr<Worker>> Worker::start(asio::io_context& io, const std::string& program,
                                                const std::vector<std::string>& arguments) {
  std::shared_ptr<Worker> worker(new Worker(io));
  worker->stderr_fd_ = memfd_create("stderr", MFD_CLOEXEC);
  ChildOptions options;
  options.argv = {sibling_program(program)};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.env = passed_environment();
  options.clean_env = true;
  options.channel = true;
  options.stdout_fd = options.stderr_fd = worker->stderr_fd_;
  HONE_ASSIGN_OR_RETURN(worker->child_, ChildProcess::spawn(options));
  worker->socket_.assign(asio::local::stream_protocol(), worker->child_.release_channel());
  return worker;
}

Worker::~Worker() {
  if (stderr_fd_ >= 0) close(stderr_fd_);
}

awaitable<Status> Worker::send(FrameKind kind, std::string payload) {
  const auto self = shared_from_this();
  const std::string bytes = encode_frame(kind, payload);
  error_code error;
  co_await asio::async_write(socket_, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return died();
  co_return absl::OkStatus();
}

// A spawned coroutine begins in a later event of the loop, before which the last owner may let go of the worker.
void Worker::tell(FrameKind kind, std::string payload) {
  asio::co_spawn(
      socket_.get_executor(),
      [self = shared_from_this(), kind, payload = std::move(payload)] { return self->send(kind, payload); },
      asio::detached);
}

awaitable<error_code> Worker::read(void* data, size_t n) {
  error_code error;
  co_await asio::async_read(socket_, asio::buffer(data, n), asio::redirect_error(asio::use_awaitable, error));
  co_return error;
}

awaitable<StatusOr<Frame>> Worker::receive(double seconds) {
  const auto self = shared_from_this();
  timer_.expires_after(std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6)));
  timer_.async_wait([weak = weak_from_this()](error_code error) {
    const auto worker = weak.lock();
    if (error || !worker || worker->timer_.expiry() > asio::steady_timer::clock_type::now()) return;
    worker->timed_out_ = true;
    worker->kill();
  });
  char header[kFrameHeaderBytes];
  Frame frame;
  error_code error = co_await read(header, sizeof header);
  if (!error) {
    size_t size = 0;
    const Status status = decode_frame_header(header, &size, &frame.kind);
    if (!status.ok()) {
      kill();
      co_return status;
    }
    frame.payload.resize(size);
    error = co_await read(frame.payload.data(), size);
  }
  timer_.cancel();
  if (timed_out_) co_return absl::DeadlineExceededError(fmt::format("no answer after {:.3g} s", seconds));
  if (error) co_return died();
  co_return frame;
}

Status Worker::died() {
  // The process closed its end of the socket, so it is ending; if it does not, it is killed.
  std::optional<int> status = child_.wait(std::chrono::seconds(1));
  if (!status) {
    child_.kill_group();
    status = child_.wait();
  }
  was_killed_ = !timed_out_ && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL;
  std::string text = describe_exit(*status);
  if (const std::string words = last_words(); !words.empty()) text += ": " + words;
  return absl::AbortedError(text);
}

// The last line that is not part of a stack dump.
std::string Worker::last_words() const {
  std::string text(64 << 10, '\0');
  const ssize_t n = stderr_fd_ >= 0 ? pread(stderr_fd_, text.data(), text.size(), 0) : 0;
  text.resize(n > 0 ? n : 0);
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.find("ERROR") != std::string::npos || line.find("terminate") != std::string::npos ||
        line.find("what()") != std::string::npos || line.find("hone-") != std::string::npos)
      return line.substr(0, 200);
  }
  return text.substr(0, std::min<size_t>(text.find('\n'), 200));
}

}  // namespace hone::agent
