#include "rpc/agent/pipe/device_spec.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "compiler/target/gpu_kinds.h"

namespace hone::agent {

std::string_view target_kind_of(DeviceKind kind) {
  return kind == DeviceKind::kCpu ? "llvm" : gpu_kinds()[static_cast<size_t>(kind) - 1].name;
}

std::vector<DeviceKind> gpu_device_kinds() {
  std::vector<DeviceKind> out;
  for (size_t i = 0; i < gpu_kinds().size(); ++i) out.push_back(static_cast<DeviceKind>(i + 1));
  return out;
}

std::optional<DeviceKind> device_kind_of(std::string_view target_kind) {
  if (target_kind == target_kind_of(DeviceKind::kCpu)) return DeviceKind::kCpu;
  for (const DeviceKind kind : gpu_device_kinds())
    if (target_kind_of(kind) == target_kind) return kind;
  return std::nullopt;
}

std::string device_name(const DeviceSpec& spec) {
  return spec.is_gpu() ? fmt::format("{}{}", target_kind_of(spec.kind), spec.index) : "cpu";
}

std::string to_string(const DeviceSpec& spec) {
  return fmt::format("{}:{}:{}", target_kind_of(spec.kind), spec.index, spec.api_major);
}

std::optional<DeviceSpec> parse_device_spec(const std::string& text) {
  char word[16] = {};
  DeviceSpec spec;
  int end = 0;
  if (std::sscanf(text.c_str(), "%15[a-z]:%d:%d%n", word, &spec.index, &spec.api_major, &end) != 3 ||
      text.size() != static_cast<size_t>(end))
    return std::nullopt;
  const auto kind = device_kind_of(word);
  if (!kind || spec.index < 0 || spec.api_major < 0) return std::nullopt;
  spec.kind = *kind;
  return spec;
}

std::optional<ChildArguments> parse_child_arguments(int argc, char** argv) {
  if (argc != 5) return std::nullopt;
  const std::optional<DeviceSpec> device = parse_device_spec(argv[3]);
  const int threads = std::atoi(argv[1]);
  char* end = nullptr;
  const uint64_t memory = std::strtoull(argv[4], &end, 10);
  if (!device || threads < 1 || *end != '\0' || memory == 0) return std::nullopt;
  return ChildArguments{threads, argv[2], *device, memory};
}

}  // namespace hone::agent
