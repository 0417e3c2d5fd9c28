#include "compiler/runtime/gpu/ptxas_log.h"

#include <charconv>
#include <optional>

namespace hone {
namespace {

// The number right before `unit`: 8 of "Used 8 registers, 256 bytes smem" for " registers".
std::optional<int64_t> number_before(std::string_view line, std::string_view unit) {
  const size_t end = line.find(unit);
  if (end == line.npos) return std::nullopt;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t value = 0;
  if (std::from_chars(line.data() + begin, line.data() + end, value).ptr != line.data() + end || begin == end)
    return std::nullopt;
  return value;
}

}  // namespace

std::vector<KernelInfo> kernels_of_ptxas_log(std::string_view log) {
  std::vector<KernelInfo> kernels;
  bool of_entry = false;  // the lines are about the last of `kernels`, not about a function that it calls
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line = log.substr(at, end - at);
    at = end + 1;
    constexpr std::string_view kEntry = "Compiling entry function '", kProperties = "Function properties for ";
    if (const size_t entry = line.find(kEntry); entry != line.npos) {
      const std::string_view rest = line.substr(entry + kEntry.size());
      kernels.push_back({.name = std::string(rest.substr(0, rest.find('\'')))});
      of_entry = true;
    } else if (const size_t properties = line.find(kProperties); properties != line.npos) {
      of_entry = !kernels.empty() && line.substr(properties + kProperties.size()) == kernels.back().name;
    } else if (kernels.empty()) {
      continue;
    } else if (const auto stores = number_before(line, " bytes spill stores"); stores && of_entry) {
      kernels.back().spill_bytes = *stores + number_before(line, " bytes spill loads").value_or(0);
    } else if (const auto registers = number_before(line, " registers"); registers) {
      kernels.back().registers = static_cast<int>(*registers);
      kernels.back().local_bytes = number_before(line, " bytes smem").value_or(0);
    }
  }
  return kernels;
}

}  // namespace hone
