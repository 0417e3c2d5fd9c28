#include "tests/e2e/fleet/programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "db/store.h"

namespace hone::e2e {
namespace {

namespace fs = std::filesystem;

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) out.push_back(entry.path().string());
  return out;
}

int64_t query(db::Store& store, const char* sql) { return store.database().query_integer(sql).value_or(0); }

std::unique_ptr<db::Store> open_existing(const std::string& path) {
  if (struct stat info{}; stat(path.c_str(), &info) != 0 || info.st_size == 0) return nullptr;
  auto store = db::open_for_reading(path);
  return store.ok() ? std::move(*store) : nullptr;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

size_t count_lines(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

int Program::wait(seconds patience) { return take_code(patience).value_or(-1); }

std::optional<int> Program::ended() { return take_code(std::chrono::milliseconds(0)); }

std::optional<int> Program::take_code(std::chrono::milliseconds patience) {
  if (code_) return code_;
  const std::optional<int> status = child_.wait(patience);
  if (status) code_ = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
  return code_;
}

Workplace::Workplace() {
  if (!mkdtemp(dir_.data())) throw std::runtime_error("mkdtemp");
  fs::create_directory(path("tmp"));
  db_ = path("hub.db");
}

Workplace::~Workplace() {
  // All programs have ended; files left over belong to this test alone.
  for (const std::string& process : processes()) kill(std::atoi(process.c_str()), SIGKILL);
  std::error_code ignored;
  fs::remove_all(dir_, ignored);
}

Program Workplace::start(const Words& words) {
  const fs::path program = fs::path(HONE_BIN_DIR) / words.at(0);
  const std::string log = path(fmt::format("{}-{}", program.filename().string(), ++started_));
  ChildOptions options;
  options.argv = words;
  options.argv[0] = program.string();
  options.env = {"HOME=" + dir_, "XDG_DATA_HOME=", "TMPDIR=" + path("tmp"), "HONE_DB=" + db_,
                 "HONE_HOST_LOCK=" + path("lock")};
  options.stdout_fd = open((log + ".out").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  options.stderr_fd = open((log + ".err").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  StatusOr<ChildProcess> child = ChildProcess::spawn(options);
  close(options.stdout_fd);
  close(options.stderr_fd);
  if (!child.ok()) throw std::runtime_error(message_of(child.status()));
  return Program(std::move(*child), log + ".out", log + ".err");
}

Output Workplace::run(const Words& words, seconds patience) {
  Program program = start(words);
  const int code = program.wait(patience);
  EXPECT_NE(code, -1) << words[0] << " did not end; stderr: " << program.err();
  return {code, program.out(), program.err()};
}

std::string Workplace::expect_refused(int code, const Words& words) {
  const Output output = run(words);
  std::string command;
  for (const std::string& word : words) command += word + " ";
  EXPECT_EQ(output.code, code) << command << ": " << output.err;
  EXPECT_EQ(output.out, "") << command;
  EXPECT_EQ(count_lines(output.err), 1u) << command << ": " << output.err;
  EXPECT_THAT(output.err, testing::StartsWith(words[0] + ": ")) << command;
  return output.err;
}

std::vector<std::string> Workplace::processes() const {
  const std::string ours = "HONE_HOST_LOCK=" + path("lock");
  std::vector<std::string> out;
  for (const std::string& folder : entries("/proc")) {
    const std::string pid = folder.substr(6);
    if (!is_number(pid)) continue;
    const std::string environment = '\0' + read_file(folder + "/environ");
    if (environment.find('\0' + ours + '\0') == std::string::npos) continue;
    std::string name = read_file(folder + "/comm");
    out.push_back(pid + " " + name.substr(0, name.find('\n')));
  }
  return out;
}

std::vector<std::string> Workplace::scratch_folders() const {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const std::string& process : processes())
    for (const std::string& fd : entries("/proc/" + process.substr(0, process.find(' ')) + "/fd")) {
      const fs::path file = fs::read_symlink(fd, ignored);
      if (file.filename() == "lock" && file.parent_path().filename().string().starts_with("hone-agent-"))
        out.push_back(file.parent_path().string());
    }
  return out;
}

std::vector<std::string> Workplace::temporary_files() const { return entries(path("tmp")); }

bool Workplace::nothing_left(const std::vector<std::string>& scratch) const {
  return eventually([&] {
    return processes().empty() && temporary_files().empty() &&
           std::none_of(scratch.begin(), scratch.end(), [](const std::string& f) { return fs::exists(f); });
  });
}

Stored stored(const std::string& db_path) {
  const auto store = open_existing(db_path);
  if (!store) return {};
  Stored s;
  // Backwards, so that rows that a writer adds meanwhile are not in one count and missing in a later one.
  s.configs = query(*store, "SELECT count(*) FROM (SELECT DISTINCT key, config FROM trials WHERE NOT confirmed)");
  s.failed = query(*store, "SELECT count(*) FROM trials WHERE NOT confirmed AND status <> 'ok'");
  s.trials = query(*store, "SELECT count(*) FROM trials WHERE NOT confirmed");
  s.rows = query(*store, "SELECT count(*) FROM trials");
  s.sessions = query(*store, "SELECT count(*) FROM sessions");
  return s;
}

std::vector<std::string> trial_names(const std::string& db_path) {
  std::vector<std::string> names;
  const auto store = open_existing(db_path);
  if (!store) return names;
  const auto rows = store->trials().list({});
  EXPECT_TRUE(rows.ok()) << rows.status();
  if (rows.ok())
    for (const db::TrialRow& row : *rows)
      if (!row.confirmed) names.push_back(row.workload + " on " + row.target + " in " + row.space + ": " + row.config);
  return names;
}

int64_t trials_of(const std::string& db_path, const std::string& agent) {
  const auto store = open_existing(db_path);
  if (!store) return 0;
  return query(
      *store,
      fmt::format(
          "SELECT count(*) FROM trials JOIN origins ON origins.id = origin WHERE NOT confirmed AND device = '{}/cpu'",
          agent)
          .c_str());
}

}  // namespace hone::e2e
