#include "tests/bench/models/build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "base/child_process.h"
#include "base/exit_code.h"
#include "base/json.h"
#include "tests/bench/models/last_line.h"

namespace hone::bench {
namespace {

namespace fs = std::filesystem;

std::vector<NamedTensor> tensors_of(const Json& list) {
  std::vector<NamedTensor> tensors;
  for (const Json& t : list) {
    tensors.push_back({t.at("name"), {parse_dtype(t.at("dtype").get<std::string>()), t.at("shape")}});
    if (t.contains("extent")) {
      tensors.back().axis = t.at("extent").at("axis");
      tensors.back().count = t.at("extent").at("output");
    }
  }
  return tensors;
}

// From the description that `tensorc --json` prints.
Status describe(const std::string& file, Artifact& a) {
  std::ifstream in(file);
  try {
    const Json j = Json::parse(in);
    a.inputs = tensors_of(j.at("inputs"));
    a.outputs = tensors_of(j.at("outputs"));
    for (const Json& layer : j.at("layers")) {
      const std::string source = layer.at("source");
      ++a.configs[source.substr(0, source.find(' '))];
    }
  } catch (const Json::exception& e) {
    return absl::InternalError(fmt::format("tensorc's description: {}", e.what()));
  } catch (const UserError& e) {
    return absl::InternalError(fmt::format("tensorc's description: {}", e.what()));
  }
  return absl::OkStatus();
}

}  // namespace

Status run_program(const std::vector<std::string>& argv, const std::string& out, const std::string& log,
                   std::chrono::milliseconds limit, const std::atomic<bool>* stop) {
  const std::string name = fs::path(argv.at(0)).filename().string();
  const int out_fd = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  StatusOr<ChildProcess> child = ChildProcess::spawn({.argv = argv, .stdout_fd = out_fd, .stderr_fd = log_fd});
  if (out_fd >= 0) close(out_fd);
  if (log_fd >= 0) close(log_fd);
  HONE_RETURN_IF_ERROR(child.status());
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::optional<int> status;
  while (!(status = child->wait(std::chrono::milliseconds(100)))) {
    if (stop && *stop) return interrupted_error("interrupted");
    if (std::chrono::steady_clock::now() >= deadline)
      return absl::InternalError(fmt::format("{}: took longer than {} s", name, limit.count() / 1000.0));
  }
  if (*status == 0) return absl::OkStatus();
  const std::string said = last_line(log);
  return absl::InternalError(said.empty() ? fmt::format("{}: ended with {}", name, describe_exit(*status))
                                          : fmt::format("{} ({})", said, describe_exit(*status)));
}

StatusOr<Artifact> build_artifact(const ModelSpec& model, const BuildOptions& o) {
  Artifact a;
  a.file = o.folder + "/model.so";
  std::vector<std::string> argv = {
      o.tensorc, model.file, "-o", a.file, "--json", "--threads", std::to_string(o.threads)};
  for (const std::string& b : model.bind) argv.insert(argv.end(), {"--bind", b});
  for (const std::string& s : model.shapes) argv.insert(argv.end(), {"--shape", s});
  if (o.db.empty())
    argv.insert(argv.end(), {"--config", "default"});
  else
    argv.insert(argv.end(), {"--db", o.db});
  const std::string description = o.folder + "/description.json";
  HONE_RETURN_IF_ERROR(run_program(argv, description, o.folder + "/tensorc.log", o.limit, o.stop));
  HONE_RETURN_IF_ERROR(describe(description, a));
  for (const auto& file : fs::directory_iterator(o.folder))
    if (const std::string kind = file.path().extension(); kind == ".so" || kind == ".weights")
      a.bytes += static_cast<int64_t>(file.file_size());
  return a;
}

}  // namespace hone::bench
