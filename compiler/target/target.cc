#include "compiler/target/target.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/key.h"
#include "compiler/target/cpu_table.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

constexpr std::string_view kGenericX86 = "x86-64", kGenericArm = "generic";
constexpr int64_t kMaxCacheBytes = int64_t{1} << 40;

int64_t number(std::string_view flag, std::string_view text, int64_t low, int64_t high) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  HONE_USER_CHECK(error == std::errc() && end == text.data() + text.size() && value >= low && value <= high)
      << "target: " << flag << "=" << text << " must be a number from " << low << " to " << high;
  return value;
}

// `1024K`, `32M` or bytes.
int64_t size_of(std::string_view flag, std::string_view text) {
  int64_t unit = 1;
  std::string_view digits = text;
  if (!digits.empty() && (digits.back() == 'K' || digits.back() == 'M')) {
    unit = digits.back() == 'K' ? 1 << 10 : 1 << 20;
    digits.remove_suffix(1);
  }
  return number(flag, digits, 0, kMaxCacheBytes / unit) * unit;
}

std::string size_text(int64_t bytes) {
  return bytes % 1024 == 0 ? fmt::format("{}K", bytes / 1024) : fmt::format("{}", bytes);
}

}  // namespace

Target cpu_defaults(std::string_view arch, std::string_view mcpu) {
  HONE_USER_CHECK(arch == "x86_64" || arch == "aarch64")
      << "target: architecture '" << arch << "' is not supported; allowed: x86_64, aarch64";
  const CpuEntry* entry = find_cpu(arch, mcpu);
  if (!entry) entry = find_cpu(arch, arch == "x86_64" ? kGenericX86 : kGenericArm);
  Target t;
  t.arch = arch;
  t.os = "linux";
  t.mcpu = mcpu;
  t.l1_bytes = int64_t{entry->l1_kib} << 10;
  t.l2_bytes = int64_t{entry->l2_kib} << 10;
  t.l3_bytes = int64_t{entry->l3_kib} << 10;
  t.vector_bits = entry->vector_bits;
  t.vector_registers = entry->vector_registers;
  return t;
}

namespace {

using Flags = std::vector<std::pair<std::string_view, std::string_view>>;

// The key's flags, each one of `allowed`.
Flags flags_of(const TargetKey& key, std::initializer_list<std::string_view> allowed) {
  Flags flags;
  for (const auto& [flag, value] : key.flags) {
    HONE_USER_CHECK(std::find(allowed.begin(), allowed.end(), flag) != allowed.end())
        << "target: flag '" << flag << "' is unknown; allowed: " << fmt::format("{}", fmt::join(allowed, " "));
    flags.emplace_back(flag, value);
  }
  return flags;
}

// The numbers of a GPU that is not there: its architecture's entry, else the least of all devices of its kind.
Target gpu_defaults(const GpuKind& kind, std::string_view arch) {
  Target t;
  t.kind = kind.name;
  t.shared_bytes = kind.shared_bytes;
  t.max_threads = kind.max_threads;
  t.warp = kind.warp;
  if (arch.empty() || kind.architectures.empty()) return t;
  const GpuEntry* entry = find_gpu(kind.name, arch);
  HONE_USER_CHECK(entry) << "target: -arch=" << arch << " is unknown; allowed: " << known_gpus(kind.name);
  t.arch = arch;
  t.sms = entry->sms;
  t.registers_per_sm = entry->registers_per_sm;
  // From compute capability 7.0 on a launch may ask for nearly all that a multiprocessor has.
  if (entry->shared_per_block_kib > 0) t.shared_bytes = int64_t{entry->shared_per_block_kib} << 10;
  return t;
}

Target parse_gpu(const GpuKind& kind, const TargetKey& key) {
  const Flags flags = kind.architectures.empty() ? flags_of(key, {"-sms", "-shared", "-max-threads", "-warp"})
                                                 : flags_of(key, {"-arch", "-sms", "-shared", "-max-threads"});
  std::string_view arch;
  for (const auto& [flag, value] : flags)
    if (flag == "-arch") arch = value;
  Target t = gpu_defaults(kind, arch);
  for (const auto& [flag, value] : flags) {
    if (flag == "-sms") t.sms = static_cast<int>(number(flag, value, 1, 65536));
    if (flag == "-shared") t.shared_bytes = size_of(flag, value);
    if (flag == "-max-threads") t.max_threads = static_cast<int>(number(flag, value, 1, 1024));
    if (flag == "-warp") t.warp = static_cast<int>(number(flag, value, 1, 128));
  }
  HONE_USER_CHECK(kind.architectures.empty() || !arch.empty() || flags.empty())
      << "target: " << flags[0].first << " of a " << kind.name
      << " target needs -arch; allowed: " << known_gpus(kind.name);
  return t;
}

std::string gpu_text(const Target& t) {
  std::string out = t.kind;
  const Target known = gpu_defaults(gpu_kind(t.kind), t.arch);
  if (!t.arch.empty()) out += fmt::format(" -arch={}", t.arch);
  if (t.is_complete()) out += fmt::format(" -sms={}", t.sms);
  if (t.shared_bytes != known.shared_bytes) out += fmt::format(" -shared={}", size_text(t.shared_bytes));
  if (t.max_threads != known.max_threads) out += fmt::format(" -max-threads={}", t.max_threads);
  if (t.warp != known.warp) out += fmt::format(" -warp={}", t.warp);
  return out;
}

}  // namespace

Target Target::parse(std::string_view text) {
  HONE_USER_CHECK(text.find_first_not_of(" \t\r\n") != std::string_view::npos)
      << "target is empty; allowed kinds: " << target_kinds();
  const StatusOr<TargetKey> key = parse_target_key(text);
  HONE_USER_CHECK(key.ok()) << message_of(key.status());
  if (const GpuKind* gpu = find_gpu_kind(key->kind)) return parse_gpu(*gpu, *key);
  HONE_USER_CHECK(key->kind == "llvm") << "target kind '" << key->kind << "' is unknown; allowed: " << target_kinds();
  const Flags flags = flags_of(
      *key, {"-mtriple", "-mcpu", "-mattr", "-threads", "-l1", "-l2", "-l3", "-vector-bits", "-vector-registers"});
  const auto value_of = [&flags](std::string_view flag) {
    for (const auto& [name, value] : flags)
      if (name == flag) return value;
    return std::string_view();
  };
  Target t;
  const std::string_view triple = value_of("-mtriple"), mcpu = value_of("-mcpu");
  if (!triple.empty()) {
    const size_t dash = triple.find('-');
    const std::string_view arch = triple.substr(0, dash),
                           os = dash == std::string_view::npos ? "" : triple.substr(dash + 1);
    HONE_USER_CHECK((arch == "x86_64" || arch == "aarch64") && os == "linux")
        << "target: -mtriple=" << triple << " is not supported; allowed: x86_64-linux, aarch64-linux";
    t = cpu_defaults(arch, mcpu);
  }
  HONE_USER_CHECK(mcpu.empty() || !triple.empty())
      << "target: -mcpu=" << mcpu << " needs -mtriple; allowed: x86_64-linux, aarch64-linux";
  if (!t.is_complete()) t.threads = 0;
  for (const auto& [flag, value] : flags) {
    if (flag == "-mattr") t.mattr = value;
    if (flag == "-threads") t.threads = static_cast<int>(number(flag, value, 1, 4096));
    if (flag == "-l1") t.l1_bytes = size_of(flag, value);
    if (flag == "-l2") t.l2_bytes = size_of(flag, value);
    if (flag == "-l3") t.l3_bytes = size_of(flag, value);
    if (flag == "-vector-bits") t.vector_bits = static_cast<int>(number(flag, value, 64, 4096));
    if (flag == "-vector-registers") t.vector_registers = static_cast<int>(number(flag, value, 1, 1024));
  }
  return t;
}

Target Target::completed_by(const Target& device) const {
  HONE_USER_CHECK(kind == device.kind) << "target kind '" << kind << "' is not what the device is: '" << device.kind
                                       << "'";
  if (is_complete()) return *this;
  if (is_gpu()) {  // the numbers that differ from the default
    const Target open = gpu_defaults(gpu_kind(kind), arch);
    Target out = device;
    if (shared_bytes != open.shared_bytes) out.shared_bytes = shared_bytes;
    if (max_threads != open.max_threads) out.max_threads = max_threads;
    if (warp != open.warp) out.warp = warp;
    return out;
  }
  HONE_USER_CHECK(arch.empty() || arch == device.arch)
      << "target: -mtriple=" << arch << "-" << os << " is not the device's: " << device.arch << "-" << device.os
      << "; of another machine -mcpu is needed, too";
  Target out = device;
  const Target open = arch.empty() ? Target() : cpu_defaults(arch, "");
  if (!mattr.empty()) out.mattr = mattr;
  if (threads > 0) out.threads = threads;
  if (l1_bytes != open.l1_bytes) out.l1_bytes = l1_bytes;
  if (l2_bytes != open.l2_bytes) out.l2_bytes = l2_bytes;
  if (l3_bytes != open.l3_bytes) out.l3_bytes = l3_bytes;
  if (vector_bits != open.vector_bits) out.vector_bits = vector_bits;
  if (vector_registers != open.vector_registers) out.vector_registers = vector_registers;
  return out;
}

std::string to_string(const Target& t) {
  if (t.is_gpu()) return gpu_text(t);
  std::string out = t.kind;
  if (!t.arch.empty()) out += fmt::format(" -mtriple={}-{}", t.arch, t.os);
  if (!t.mcpu.empty()) out += fmt::format(" -mcpu={}", t.mcpu);
  if (!t.mattr.empty()) out += fmt::format(" -mattr={}", t.mattr);
  const Target known = t.arch.empty() ? Target() : cpu_defaults(t.arch, t.mcpu);
  if (t.threads > 0) out += fmt::format(" -threads={}", t.threads);
  if (t.l1_bytes != known.l1_bytes) out += fmt::format(" -l1={}", size_text(t.l1_bytes));
  if (t.l2_bytes != known.l2_bytes) out += fmt::format(" -l2={}", size_text(t.l2_bytes));
  if (t.l3_bytes != known.l3_bytes) out += fmt::format(" -l3={}", size_text(t.l3_bytes));
  if (t.vector_bits != known.vector_bits) out += fmt::format(" -vector-bits={}", t.vector_bits);
  if (t.vector_registers != known.vector_registers) out += fmt::format(" -vector-registers={}", t.vector_registers);
  return out;
}

}  // namespace hone
