#include "tests/e2e/agent/hostile_sequence.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <sstream>

#include "base/child_process.h"
#include "rpc/ir/encode.h"
#include "tests/e2e/agent/add_module.h"
#include "tests/fakes/test_session.h"

namespace hone::agent {
namespace {

using namespace std::chrono_literals;
using wire::ResultStatus;
namespace fs = std::filesystem;

// The status that one hostile job must end with, and some words of its message.
struct Variant {
  std::string name;
  ResultStatus status;
  std::string words;
  /// Makes its module; null: a module for the hostile builder, named after it.
  std::function<std::string()> bytes = nullptr;
};
struct Kind {
  std::string name;
  std::vector<Variant> variants;
};

Module named(Module m, const std::string& name) {
  m.kernels[0].name = name;
  return m;
}

// Tens of thousands of statements: LLVM takes seconds.
std::string slow_to_compile() {
  Module m = add_module();
  const Function& f = m.kernels[0];
  std::vector<Stmt> body;
  for (int i = 0; i < 30000; ++i) {
    const Expr at = make_int(i % kElements), other = make_int((i * 7 + 3) % kElements);
    body.push_back(make_store(f.params[2], {at},
                              load(f.params[2], {other}) * load(f.params[0], {at}) + load(f.params[1], {other})));
  }
  m.kernels[0].body = make_seq(body);
  return encode(m);
}

// A parameter that claims more elements than the buffer behind it has.
std::string lying_size() {
  Module m = add_module();
  m.params[0].shape = {1000000};
  m.params[0].layout = Layout::identity({1000000});
  return encode(m);
}

std::string torn() {
  const std::string all = encode(add_module());
  return all.substr(0, all.size() / 2);
}

std::vector<Kind> kinds() {
  const auto failed = ResultStatus::kRunFailed, wrong = ResultStatus::kWrongResult, crash = ResultStatus::kBuildFailed;
  return {
      {"crashing",
       {{"null_store", failed, "SIGSEGV"},
        {"leave", failed, "exit code 0"},
        {"refuse", failed, "refused its arguments"}}},
      {"spinning", {{"spin", ResultStatus::kRunTimeout, "still running"}}},
      {"memory-eating", {{"eat", failed, "SIGSEGV"}}},
      {"writing out of bounds",
       {{"overrun", failed, "SIGSEGV"},
        {"fence_store", failed, "wrote outside"},
        {"input_store", failed, "SIGSEGV"},
        {"workspace_overrun", failed, "SIGSEGV"}}},
      {"wrong", {{"wrong_tail", wrong, "output element 999 is"}, {"unwritten", wrong, "never written"}}},
      {"hanging the builder",
       {{"builder_hang", ResultStatus::kBuildTimeout, "still at work"},
        {"builder_hang", ResultStatus::kBuildTimeout, "still at work"},
        {"builder_hang", ResultStatus::kBuildTimeout, "still at work"},
        {"slow IR", ResultStatus::kBuildTimeout, "still at work", slow_to_compile}}},
      {"crashing the builder",
       {{"builder_crash", crash, "SIGSEGV"},
        {"builder_abort", crash, "SIGABRT"},
        {"builder_eat", crash, "crashed"},
        {"builder_leave", crash, "exit code 0"},
        {"builder_link", crash, "no artifact"},
        {"builder_lie", crash, "crashed"},
        {"builder_claim", crash, "its answer is malformed"},
        {"builder_sizes", crash, "its answer is malformed"},
        {"builder_fill", crash, "its files took more than 256 MiB"}}},
      {"out-of-bounds IR",
       {{"wild load", ResultStatus::kRejected, "out of bounds",
         [] { return encode(add_module({.wild_load_scale = 1000})); }},
        {"wild store", ResultStatus::kRejected, "out of bounds",
         [] { return encode(add_module({.store_offset = 1})); }},
        {"lying size", ResultStatus::kRejected, "", lying_size},
        {"torn", ResultStatus::kRejected, "", torn}}},
  };
}

std::string read_all(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Children of `parent`, by the name of their program.
std::multimap<std::string, pid_t> children_of(pid_t parent) {
  std::multimap<std::string, pid_t> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); })) continue;
    const std::string stat = read_all(entry.path() / "stat");
    const size_t open = stat.find('('), close = stat.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close + 4 >= stat.size()) continue;
    char state = 0;
    int ppid = 0;
    if (std::sscanf(stat.c_str() + close + 1, " %c %d", &state, &ppid) == 2 && ppid == parent)
      out.emplace(stat.substr(open + 1, close - open - 1), std::stoi(name));
  }
  return out;
}

std::vector<std::string> arguments_of(pid_t pid) {
  std::istringstream text(read_all(fmt::format("/proc/{}/cmdline", pid)));
  std::vector<std::string> out;
  for (std::string word; std::getline(text, word, '\0');) out.push_back(word);
  return out;
}

Footprint footprint_of(pid_t pid) {
  Footprint f;
  int64_t total = 0, resident = 0;
  std::istringstream(read_all(fmt::format("/proc/{}/statm", pid))) >> total >> resident;
  f.resident_bytes = resident * sysconf(_SC_PAGESIZE);
  std::error_code error;
  f.descriptors = static_cast<int>(
      std::distance(fs::directory_iterator(fmt::format("/proc/{}/fd", pid), error), fs::directory_iterator()));
  f.children = static_cast<int>(children_of(pid).size());
  return f;
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

class Sequence {
 public:
  Sequence(std::string dir, const SequenceOptions& options)
      : dir_(std::move(dir)), options_(options), kinds_(kinds()) {}

  SequenceReport run() {
    const auto begin = std::chrono::steady_clock::now();
    start_programs();
    session_ = std::make_unique<wire::TestSession>(*wire::Address::parse(address_));
    plan();
    feed();
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    judge();
    session_.reset();
    end_agent();
    report_.log = read_all(dir_ + "/device-agent.log");
    return std::move(report_);
  }

 private:
  struct Planned {
    wire::Job job;
    const Kind* kind = nullptr;  ///< null: a good one
    const Variant* variant = nullptr;
    int block = 0;
  };
  static constexpr int kBlock = 8;

  ChildProcess start(const std::string& program, std::vector<std::string> argv) {
    ChildOptions options;
    options.argv = std::move(argv);
    options.argv.insert(options.argv.begin(), program);
    options.env = {"HONE_HOST_LOCK=" + dir_ + "/lock"};
    const int log = open((dir_ + "/" + fs::path(program).filename().string() + ".log").c_str(),
                         O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    options.stdout_fd = options.stderr_fd = log;
    StatusOr<ChildProcess> child = ChildProcess::spawn(options);
    close(log);
    if (!child.ok()) throw std::runtime_error(std::string(child.status().message()));
    return std::move(*child);
  }

  // The agent finds its helpers beside it: here the builder is another one.
  void start_programs() {
    const std::string bin = dir_ + "/bin";
    fs::create_directory(bin);
    for (const char* program : {"device-agent", "hone-runner"})
      fs::copy_file(fs::path(HONE_BIN_DIR) / program, bin + "/" + program);
    fs::copy_file(HONE_HOSTILE_BUILDER, bin + "/hone-builder");
    address_ = "unix:" + dir_ + "/sock";
    tracker_ = start(std::string(HONE_BIN_DIR) + "/tracker", {"--listen", address_, "--http", "none"});
    agent_ = start(bin + "/device-agent", {"--target", "llvm", "--tracker", address_, "--name", "lab"});
  }

  void add(std::string bytes, const Kind* kind, const Variant* variant, int block) {
    Planned p{.kind = kind, .variant = variant, .block = block};
    p.job.seq = planned_.size() + 1;
    p.job.modules = {session_->add_blob(std::move(bytes))};
    p.job.reference.emplace();
    p.job.reference->module_hash = session_->add_blob(encode(add_reference()));
    p.job.reference->samples = {{}};
    if (variant && variant->status == ResultStatus::kRunTimeout) p.job.profile.run_timeout_s = options_.run_timeout_s;
    p.job.profile.build_timeout_s =
        variant && variant->status == ResultStatus::kBuildTimeout ? options_.build_timeout_s : 60;
    planned_.push_back(std::move(p));
  }

  // Names are all different, so that nothing is built or measured only once.
  void add_good(int block) {
    add(encode(named(add_module({.repeats = 300}), fmt::format("good_{}", planned_.size()))), nullptr, nullptr, block);
  }

  void add_hostile(const Kind& kind, int nth, int block) {
    const Variant& v = kind.variants[static_cast<size_t>(nth) % kind.variants.size()];
    add(v.bytes ? v.bytes() : encode(named(add_module(), fmt::format("hostile_{}__{}", v.name, planned_.size()))),
        &kind, &v, block);
  }

  // Even blocks: good ones only. Odd blocks: hostile ones of all kinds in turn, each before a good one.
  void plan() {
    std::vector<std::pair<const Kind*, int>> hostile;
    for (int nth = 0; nth < options_.each; ++nth)
      for (const Kind& kind : kinds_) hostile.push_back({&kind, nth});
    int block = 0;
    for (int i = 0; i < kBlock; ++i) add_good(block);
    for (size_t at = 0; at < hostile.size();) {
      ++block;
      for (int i = 0; i < kBlock && at < hostile.size(); ++i, ++at) {
        add_hostile(*hostile[at].first, hostile[at].second, block);
        add_good(block);
      }
      ++block;
      for (int i = 0; i < kBlock; ++i) add_good(block);
    }
  }

  // True once `n` results are here; false when none has come for a minute.
  bool wait_results(size_t n) {
    for (size_t have = count_results(); have < n; have = count_results())
      if (!session_->wait_results(have + 1)) return false;
    return true;
  }
  size_t count_results() {
    const std::lock_guard lock(session_->mutex_);
    return session_->results_.size();
  }

  pid_t runner() const {
    const auto children = children_of(agent_.pid());
    const auto found = children.find("hone-runner");
    return found == children.end() ? 0 : found->second;
  }

  void kill_a_builder(int signal) {
    const auto children = children_of(agent_.pid());
    const auto [first, last] = children.equal_range("hone-builder");
    const auto n = std::distance(first, last);
    if (n > 0)
      kill(std::next(first, static_cast<std::ptrdiff_t>(random_() % static_cast<uint64_t>(n)))->second, signal);
  }

  void feed() {
    std::vector<wire::Job> jobs;
    for (const Planned& p : planned_) jobs.push_back(p.job);
    session_->client_->submit(jobs);
    const size_t all = planned_.size(), tenth = all / 10;
    if (!wait_results(tenth)) return;
    report_.before = footprint_of(agent_.pid());
    const pid_t runner_before = runner();
    const std::vector<std::string> words = runner_before > 0 ? arguments_of(runner_before) : std::vector<std::string>();
    folder_ = words.size() > 2 ? words[2] : "";
    for (int i = 0; i < options_.builder_kills; ++i) {
      if (!wait_results(tenth +
                        (all - tenth) * static_cast<size_t>(i + 1) / static_cast<size_t>(options_.builder_kills + 2)))
        return;
      kill_a_builder(SIGKILL);
    }
    if (!wait_results(all)) return;
    report_.after = footprint_of(agent_.pid());
    report_.same_runner = runner_before > 0 && runner() == runner_before;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder_, error))
      if (entry.is_regular_file() && entry.path().filename() != "lock" &&
          !(entry.path().parent_path() == folder_ && entry.path().extension() == ".so"))
        report_.scratch_after.push_back(entry.path());
  }

  void judge() {
    const std::lock_guard lock(session_->mutex_);
    std::map<int, std::vector<double>> by_block;
    std::vector<double> between, quiet;
    for (const Planned& p : planned_) {
      const std::string name = p.variant ? p.kind->name + "/" + p.variant->name : "good";
      const auto found = session_->results_.find(p.job.seq);
      if (found == session_->results_.end()) {
        report_.wrong.push_back(fmt::format("{} {}: no result", p.job.seq, name));
        continue;
      }
      const wire::CandidateResult& r = found->second.candidates.at(0);
      const bool right = p.variant
                             ? r.status == p.variant->status && r.message.find(p.variant->words) != std::string::npos
                             : r.status == ResultStatus::kOk;
      if (!right)
        report_.wrong.push_back(
            fmt::format("{} {}: status {}, '{}'", p.job.seq, name, static_cast<int>(r.status), r.message));
      if (p.kind) {
        ++report_.answered[p.kind->name];
      } else {
        ++report_.good;
        const double seconds = median(r.times);
        by_block[p.block].push_back(seconds);
        (p.block % 2 ? between : quiet).push_back(seconds);
      }
    }
    report_.median_between = median(between);
    report_.median_quiet = median(quiet);
    for (const auto& [block, times] : by_block) {
      if (block % 2 == 0) continue;
      std::vector<double> around = by_block[block - 1];
      around.insert(around.end(), by_block[block + 1].begin(), by_block[block + 1].end());
      report_.ratios.push_back(median(times) / median(around));
    }
  }

  void end_agent() {
    const auto children = children_of(agent_.pid());
    agent_.signal(SIGTERM);
    const std::optional<int> status = agent_.wait(30s);
    report_.exit_code = status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
    report_.folder_removed = !folder_.empty() && !fs::exists(folder_);
    for (const auto& [name, pid] : children)
      if (kill(pid, 0) == 0) ++report_.survivors;
  }

  const std::string dir_;
  const SequenceOptions options_;
  const std::vector<Kind> kinds_;
  std::string address_, folder_;
  ChildProcess tracker_, agent_;
  std::unique_ptr<wire::TestSession> session_;
  std::vector<Planned> planned_;
  std::mt19937_64 random_{5};
  SequenceReport report_;
};

}  // namespace

SequenceReport run_hostile_sequence(const std::string& dir, const SequenceOptions& options) {
  return Sequence(dir, options).run();
}

std::string to_text(const SequenceReport& r) {
  std::string kinds;
  for (const auto& [kind, n] : r.answered) kinds += fmt::format("{} {}, ", n, kind);
  std::vector<double> ratios = r.ratios;
  std::sort(ratios.begin(), ratios.end());
  return fmt::format(
      "{}between {} good ones, in {:.0f} s; {} wrong\n"
      "good ones: {:.2f} us between hostile ones, {:.2f} us in quiet blocks; ratio by blocks: median {:.3f}, {:.3f} to "
      "{:.3f}\n"
      "agent: {} MiB, {} descriptors, {} children after a tenth; {} MiB, {} descriptors, {} children at the end\n",
      kinds, r.good, r.seconds, r.wrong.size(), r.median_between * 1e6, r.median_quiet * 1e6, median(ratios),
      ratios.empty() ? 0 : ratios.front(), ratios.empty() ? 0 : ratios.back(), r.before.resident_bytes >> 20,
      r.before.descriptors, r.before.children, r.after.resident_bytes >> 20, r.after.descriptors, r.after.children);
}

}  // namespace hone::agent
