#include "tests/bench/models/side_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "base/exit_code.h"
#include "base/json.h"
#include "base/text.h"
#include "tests/bench/models/last_line.h"

namespace hone::bench {
namespace {

// Whole nanoseconds: a clock's digits without the last ones of its sums.
double milliseconds(double ms) { return std::round(ms * 1e6) / 1e6; }

}  // namespace

StatusOr<SideProcess> SideProcess::start(const SideOptions& options) {
  const int log = open(options.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (log < 0) return usage_error(fmt::format("{}: cannot be written", options.log));
  StatusOr<ChildProcess> child =
      ChildProcess::spawn({.argv = options.argv, .channel = true, .stdout_fd = log, .stderr_fd = log});
  close(log);
  HONE_RETURN_IF_ERROR(child.status());
  SideProcess side(options, *std::move(child));
  HONE_ASSIGN_OR_RETURN(const Json ready, side.answer());
  try {
    side.version_ = ready.at("version");
    side.start_times_ = {milliseconds(ready.at("library_ms")), milliseconds(ready.at("open_ms")),
                         milliseconds(ready.at("first_run_ms"))};
  } catch (const Json::exception&) {
    return side.failure(absl::InvalidArgumentError("its first line is no answer: " + ready.dump()));
  }
  return side;
}

StatusOr<double> SideProcess::turn() {
  if (const Status sent = lines_.write("turn"); !sent.ok()) return failure(sent);
  HONE_ASSIGN_OR_RETURN(const Json said, answer());
  if (!said.contains("ms") || !said["ms"].is_number() || !(said["ms"].get<double>() > 0))
    return failure(absl::InvalidArgumentError("its line is no time: " + said.dump()));
  return milliseconds(said["ms"]);
}

StatusOr<std::vector<LayerTime>> SideProcess::layers(const std::string& layers_file) {
  if (const Status sent = lines_.write("layers"); !sent.ok()) return failure(sent);
  HONE_ASSIGN_OR_RETURN(const Json said, answer());
  std::ifstream in(layers_file);
  try {
    std::vector<LayerTime> layers = layers_of(Json::parse(in));
    if (said.value("layers", size_t{0}) == layers.size()) return layers;
  } catch (const Json::exception&) {
  }
  return failure(absl::InvalidArgumentError("its layers are not in the file: " + said.dump()));
}

StatusOr<Json> SideProcess::answer() {
  const StatusOr<std::string> line = lines_.read(options_.limit, options_.stop);
  if (!line.ok()) return failure(line.status());
  Json said = Json::parse(*line, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object()) return failure(absl::InvalidArgumentError("its line is no answer: " + *line));
  if (said.contains("error") && said["error"].is_string())
    return absl::InternalError(fmt::format("{}: {}", options_.title, clean_line(said["error"].get<std::string>())));
  return said;
}

Status SideProcess::failure(const Status& reason) {
  if (exit_code_of(reason) == kExitInterrupted) return reason;
  std::string what = message_of(reason);
  if (absl::IsDeadlineExceeded(reason)) {
    what = fmt::format("did not answer within {} s", options_.limit.count() / 1000.0);
  } else if (absl::IsUnavailable(reason)) {
    // Its end of the channel is closed, so it has ended or is about to.
    const auto status = child_.wait(std::chrono::seconds(5));
    what = status ? "ended with " + describe_exit(*status) : "closed its channel";
    if (const std::string said = last_line(options_.log); !said.empty()) what += ": " + said;
  }
  return absl::InternalError(fmt::format("{}: {}", options_.title, clean_line(what, 500)));
}

}  // namespace hone::bench
