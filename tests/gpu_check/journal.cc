#include "tests/gpu_check/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace hone::gpu_check {

StatusOr<Journal> Journal::open(const std::string& path) {
  Journal journal;
  journal.path_ = path;
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  // A line that was cut off: the next one would be appended to it.
  if (std::error_code ec; whole < text.size()) {
    std::filesystem::resize_file(path, whole, ec);
    if (ec) return absl::InternalError(fmt::format("{} cannot be written: {}", path, ec.message()));
  }
  std::istringstream lines(text.substr(0, whole));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const Json record = Json::parse(line, nullptr, false);
    if (!record.is_object() || !record.contains("step") || !record["step"].is_string())
      return absl::InvalidArgumentError(fmt::format("{}:{}: this is no record of gpu-check", path, number));
    journal.records_[record["step"]] = record;
  }
  return journal;
}

const Json* Journal::find(const std::string& step) const {
  const auto found = records_.find(step);
  return found == records_.end() ? nullptr : &found->second;
}

Status Journal::add(const std::string& step, const Json& record) {
  Json line = record;
  line["step"] = step;
  const std::string text = line.dump() + "\n";
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  if (fd >= 0) close(fd);
  if (!written) return absl::InternalError(fmt::format("{} cannot be written", path_));
  records_[step] = std::move(line);
  return absl::OkStatus();
}

}  // namespace hone::gpu_check
