#include "tests/gpu_check/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "base/child_process.h"
#include "base/exit_code.h"

namespace hone::gpu_check {
namespace {

namespace fs = std::filesystem;

// The message of gpu-torch without its name.
std::string without_name(const std::string& line) {
  constexpr std::string_view kName = "gpu-torch: ";
  return line.starts_with(kName) ? line.substr(kName.size()) : line;
}

bool is_model(const fs::path& path) { return path.extension() == ".onnx" || path.extension() == ".tflite"; }

// The time that tensorc begins its line with; nothing where it does not.
std::optional<double> ms_in(const StatusOr<Outcome>& outcome) {
  double ms = 0;
  if (!outcome.ok() || outcome->code != kExitDone || std::sscanf(outcome->out.c_str(), "%lf ms", &ms) != 1)
    return std::nullopt;
  return ms;
}

}  // namespace

StatusOr<std::vector<ModelFile>> find_models(const std::vector<std::string>& paths) {
  std::map<std::string, ModelFile> found;
  for (const std::string& path : paths) {
    std::error_code ec;
    std::vector<fs::path> files;
    if (fs::is_directory(path, ec)) {
      for (const auto& entry : fs::directory_iterator(path, ec))
        if (is_model(entry.path())) files.push_back(entry.path());
      if (files.empty()) return usage_error(fmt::format("{}: no .onnx or .tflite file", path));
    } else if (fs::exists(path, ec) && is_model(path)) {
      files.emplace_back(path);
    } else {
      return usage_error(fmt::format("{}: neither a folder nor a file .onnx or .tflite", path));
    }
    for (const fs::path& file : files) {
      const std::string name = file.stem().string();
      fs::path flags = file;
      flags.replace_extension(".toml");
      ModelFile model{name, file.string(), fs::exists(flags, ec) ? flags.string() : ""};
      const auto [known, is_new] = found.emplace(name, model);
      if (!is_new && known->second.path != model.path)
        return usage_error(fmt::format("{} and {} have one name", known->second.path, model.path));
    }
  }
  std::vector<ModelFile> out;
  for (auto& [name, model] : found) out.push_back(std::move(model));
  return out;
}

std::vector<std::string> words_of(const ModelFile& model) {
  std::vector<std::string> words = {model.path};
  if (!model.flags.empty()) words.insert(words.end(), {"--flags-file", model.flags});
  return words;
}

std::string joined_tasks(const std::vector<std::string>& texts) {
  std::vector<std::string> order;
  std::map<std::string, double> weights;
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const size_t end = line.find("  ");
      if (end == std::string::npos) continue;
      const std::string workload = line.substr(0, end), weight = line.substr(line.find_first_not_of(' ', end));
      double times = 1;
      std::from_chars(weight.data(), weight.data() + weight.size(), times);
      const auto [known, is_new] = weights.emplace(workload, 0);
      if (is_new) order.push_back(workload);
      known->second += times;
    }
  }
  std::string out;
  for (const std::string& workload : order) out += fmt::format("{}  {}\n", workload, weights[workload]);
  return out;
}

Json list_layers(const ModelFile& model, const Target& target, double most_seconds) {
  std::vector<std::string> argv = {"tuner"};
  for (const std::string& word : words_of(model)) argv.push_back(word);
  argv.insert(argv.end(), {"--target", to_string(target), "--print-tasks"});
  const StatusOr<Outcome> outcome = run_program(argv, most_seconds);
  Json record = outcome_json(outcome);
  if (record["ok"].get<bool>()) record["tasks"] = outcome->out;
  return record;
}

Json time_model(const ModelFile& model, const Target& target, const std::string& folder, const std::string& db,
                double most_seconds) {
  const std::string artifact = folder + "/model.so";
  std::vector<std::string> argv = {"tensorc"};
  for (const std::string& word : words_of(model)) argv.push_back(word);
  argv.insert(argv.end(), {"--target", to_string(target), "-o", artifact, "--bench"});
  // Where nothing was tuned here, with what was tuned elsewhere.
  if (std::error_code ec; fs::exists(db, ec)) argv.insert(argv.end(), {"--db", db});
  std::vector<std::string> plain = argv, checked = argv;
  plain.insert(plain.end(), {"--config", "default"});
  checked.emplace_back("--check");
  const StatusOr<Outcome> tuned = run_program(checked, most_seconds / 2);
  Json record = outcome_json(tuned);
  if (const auto ms = ms_in(tuned)) {
    record["tuned_ms"] = *ms;
    if (const auto by_default = ms_in(run_program(plain, most_seconds / 2))) record["default_ms"] = *by_default;
  }
  for (const char* made : {"/model.so", "/model.h"}) std::remove((folder + made).c_str());
  return record;
}

Json time_in_torch(const ModelFile& model, const TorchWay& way, double most_seconds) {
  if (std::error_code ec; !fs::exists(sibling_program("gpu-torch"), ec))
    return {{"finished", true}, {"ok", true}, {"missing", "gpu-torch is not beside gpu-check"}};
  std::vector<std::string> argv = {"gpu-torch"};
  for (const std::string& word : words_of(model)) argv.push_back(word);
  argv.insert(argv.end(), {"--mode", way.mode, "--precision", way.precision});
  const StatusOr<Outcome> outcome = run_program(argv, most_seconds);
  // A peer that is not there is no error.
  if (outcome.ok() && outcome->code == kExitNoDevice)
    return {{"finished", true}, {"ok", true}, {"missing", without_name(outcome->last_error)}};
  Json record = outcome_json(outcome);
  const Json said = outcome.ok() ? Json::parse(outcome->out, nullptr, false) : Json();
  if (said.is_object() && said.contains("time_ms")) record["time_ms"] = said["time_ms"];
  return record;
}

}  // namespace hone::gpu_check
