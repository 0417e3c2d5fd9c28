#include "tests/e2e/tophub/served.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "rpc/hub/hub_client.h"

namespace hone::e2e {
namespace {

using namespace std::chrono_literals;

constexpr char kTarget[] = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2";

std::string workload_number(int64_t n) { return fmt::format("dense(m=1,n={},k=768,dtype=f32,epilogue=none)", n + 1); }

// A line of a pipe; what came of it within the time.
std::string read_line(int fd, std::chrono::milliseconds most) {
  std::string line;
  const auto until = std::chrono::steady_clock::now() + most;
  char c = 0;
  while (std::chrono::steady_clock::now() < until) {
    pollfd one{fd, POLLIN, 0};
    if (poll(&one, 1, 50) <= 0) continue;
    if (read(fd, &c, 1) != 1 || c == '\n') break;
    line += c;
  }
  return line;
}

}  // namespace

Ran run_program(const std::string& program, const std::vector<std::string>& arguments,
                const std::vector<std::string>& environment) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::vector<std::string> argv = {std::string(HONE_BIN_DIR) + "/" + program};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto child = ChildProcess::spawn({.argv = argv, .env = environment, .stdout_fd = ends[1], .stderr_fd = ends[1]});
  close(ends[1]);
  if (!child.ok()) throw std::runtime_error(message_of(child.status()));
  Ran out{-1, ""};
  std::array<char, 4096> buffer{};
  for (ssize_t n; (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
    out.text.append(buffer.data(), static_cast<size_t>(n));
  close(ends[0]);
  const int status = child->wait();
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

Served::Served(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::vector<std::string> argv = {HONE_BIN_DIR "/tophub", "serve"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto child = ChildProcess::spawn({.argv = argv, .env = environment, .stdout_fd = ends[1]});
  close(ends[1]);
  if (!child.ok()) throw std::runtime_error(message_of(child.status()));
  child_ = *std::move(child);
  const std::string first = read_line(ends[0], 30s), second = read_line(ends[0], 30s);
  close(ends[0]);
  lines_ = first + "\n" + second + "\n";
  listens_ = first.substr(first.rfind(' ') + 1);
}

int Served::stop(int signal) {
  child_.signal(signal);
  return child_.wait();
}

db::RecordSet session_of(const std::string& uuid, const std::string& workload, double seconds) {
  db::TrialRow t;
  t.session = uuid, t.seq = 1;
  t.workload = workload, t.target = kTarget;
  t.space = "feed1234", t.template_name = "dense_cpu", t.template_revision = 1, t.config = "tile=1";
  t.in_layout = "MK", t.out_layout = "MN", t.module_hash = "00112233445566778899aabbccddeeff";
  t.status = "ok", t.times = {seconds, seconds, seconds}, t.seconds = seconds, t.confirmed = true;
  t.device = "box/cpu", t.device_model = "znver5", t.profile = "1+3x2ms", t.hone_version = "0.1.0";
  t.codegen_version = "1", t.created_at = 1'700'000'000'000;
  return {.sessions = {{uuid, workload, kTarget, "feed1234", "xgb", 7, 1000, 2000, "done"}}, .trials = {t}};
}

Writers::Writers(std::shared_ptr<db::RemoteHub> hub, int threads) : hub_(std::move(hub)) {
  for (int t = 0; t < threads; ++t) threads_.emplace_back([this, t] { run(t); });
}

Writers::~Writers() { stop(); }

void Writers::stop() {
  ending_ = true;
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

std::set<std::string> Writers::acknowledged() const {
  std::lock_guard lock(mutex_);
  return acknowledged_;
}

void Writers::run(int thread) {
  for (int64_t i = 0; !ending_; ++i) {
    const std::string workload = workload_number(i * 64 + thread);
    const Status status = hub_->push(session_of(fmt::format("s-{}-{}", thread, i), workload, 0.5));
    if (status.ok()) {
      std::lock_guard lock(mutex_);
      acknowledged_.insert(workload);
    } else {
      EXPECT_TRUE(absl::IsUnavailable(status)) << status;
      ++failures_;
      std::this_thread::sleep_for(5ms);
    }
  }
}

void expect_kills_lose_nothing(const std::vector<std::string>& arguments, int times, int threads) {
  const auto with = [&](const std::string& listen) {
    std::vector<std::string> all = {"--listen", listen};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  };
  auto served = std::make_unique<Served>(with("127.0.0.1:0"));
  const std::string listens = served->listens();
  const auto hub = hub::open_hub("http://" + listens, {}, false).value();
  Writers writers(hub, threads);
  size_t before = 0;
  for (int i = 0; i < times; ++i) {
    // Somewhere in the middle of the work, and never before there was some.
    const auto until = std::chrono::steady_clock::now() + 30s;
    while (writers.acknowledged().size() < before + 5 && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(std::chrono::milliseconds(7 * i % 40));
    const size_t now = writers.acknowledged().size();
    ASSERT_GT(now, before) << "after " << i << " kills nothing is written any more";
    before = now;
    served->stop(SIGKILL);
    served = std::make_unique<Served>(with(listens));
    ASSERT_EQ(served->listens(), listens) << served->lines();
  }
  writers.stop();
  EXPECT_GT(writers.failures(), 0);
  const std::set<std::string> acknowledged = writers.acknowledged();
  db::TeamQuery query{{}, false};
  std::set<std::string> there;
  const auto ask = [&] {
    const auto answer = hub->ask(query);
    ASSERT_TRUE(answer.ok()) << answer.status();
    for (const db::TeamBest& best : answer->bests) there.insert(best.row.workload);
    query.keys.clear();
  };
  for (const std::string& workload : acknowledged) {
    query.keys.push_back({workload, kTarget});
    if (query.keys.size() == 500) ask();
  }
  if (!query.keys.empty()) ask();
  EXPECT_EQ(there, acknowledged);
}

}  // namespace hone::e2e
