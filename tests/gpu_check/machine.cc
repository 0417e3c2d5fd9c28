#include "tests/gpu_check/machine.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace hone::gpu_check {
namespace {

// `Model:  NVIDIA H100 80GB HBM3`
std::string model_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    if (!line.starts_with("Model:")) continue;
    const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == line.npos ? "" : line.substr(begin);
  }
  return "";
}

// The first word of numbers with dots.
std::string version_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string word;
  while (in >> word)
    if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos) return word;
  return "";
}

}  // namespace

std::string machine_text(const std::string& target, const std::string& folder) {
  std::set<std::string> models;
  std::error_code ec;
  if (target.starts_with("cuda"))
    for (const auto& gpu : std::filesystem::directory_iterator(folder + "/gpus", ec))
      if (const std::string model = model_in(gpu.path() / "information"); !model.empty()) models.insert(model);
  if (models.empty()) return target;
  const std::string version = version_in(folder + "/version");
  return fmt::format("{}{}", fmt::join(models, " or "), version.empty() ? "" : ", driver " + version);
}

}  // namespace hone::gpu_check
