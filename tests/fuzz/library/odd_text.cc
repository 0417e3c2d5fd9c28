#include "tests/fuzz/library/odd_text.h"

#include <array>
#include <cstring>

#include "tests/fuzz/library/files.h"

namespace hone::fuzz {
namespace {

template <size_t n>
const char* some(const std::array<const char*, n>& of, std::mt19937_64& rng) {
  return of[rng() % n];
}

constexpr auto kTensorc = std::to_array<const char*>(
    {"--bind",          "--shape",   "--input",   "--cache",      "--weights", "--inputs",  "--quantize",
     "--calibrate",     "--range",   "--ranges",  "--keep",       "--task",    "--args",    "--workload",
     "--accumulate",    "--target",  "--threads", "--db",         "--config",  "--emit",    "--disable",
     "--sysroot",       "-o",        "--bench",   "--check",      "--explain", "--profile", "--report",
     "--check-seconds", "--compare", "--json",    "--flags-file", "--help",    "--unknown", "-x"});
constexpr auto kTuner =
    std::to_array<const char*>({"--task",   "--args",          "--workload",   "--list",       "--tasks",
                                "--model",  "--bind",          "--shape",      "--input",      "--quantize",
                                "--ranges", "--keep",          "--accumulate", "--cache",      "--print-tasks",
                                "--target", "--trials",        "--seconds",    "--stop-after", "--tracker",
                                "--device", "--label",         "--weight",     "--priority",   "--insecure",
                                "--db",     "--search",        "--seed",       "--batch",      "--timeout",
                                "--repeat", "--min-repeat-ms", "--threads",    "--warm-start", "--fresh",
                                "--plot",   "--json",          "--config",     "--help",       "--unknown",
                                "-x"});
constexpr auto kTophub = std::to_array<const char*>(
    {"best",     "list",        "stats",        "export",  "import", "merge",    "check",
     "train",    "sing",        "--db",         "--json",  "--task", "--args",   "--workload",
     "--target", "--in-layout", "--out-layout", "--limit", "--best", "--repair", "--target-kind",
     "--out",    "--config",    "--help",       "-"});
constexpr auto kValues = std::to_array<const char*>({"",
                                                     "=",
                                                     "==",
                                                     "0",
                                                     "1",
                                                     "2",
                                                     "-1",
                                                     "4294967297",
                                                     "18446744073709551616",
                                                     "1e999",
                                                     "nan",
                                                     "-inf",
                                                     "0x10",
                                                     "1|2",
                                                     "1|",
                                                     "|",
                                                     ",",
                                                     "k=v",
                                                     "a=b=c",
                                                     "left=6x4",
                                                     "left=0x4",
                                                     "left=-1",
                                                     "left=9223372036854775807x9223372036854775807",
                                                     "bytes=u8:NHWC,scale=0",
                                                     "left=f32,mean=1e300",
                                                     "x=1|2|2",
                                                     "batch=4",
                                                     "batch=9223372036854775807",
                                                     "batch=0",
                                                     "llvm",
                                                     "llvm -mcpu=znver4 -threads=0",
                                                     "llvm -mcpu=\n",
                                                     "cuda -arch=sm_1",
                                                     "opencl -sms=-4",
                                                     "dense",
                                                     "conv2d",
                                                     "dense(m=8,n=8,k=8)",
                                                     "dense(m=0,n=8,k=8)",
                                                     "dense(m=9223372036854775807,n=8,k=8)",
                                                     "dense(",
                                                     "m=8,n=8,k=8",
                                                     "m=,n",
                                                     "graph:after=none",
                                                     "lowered:after=unroll_loops",
                                                     "obj",
                                                     "so",
                                                     "ir",
                                                     "int8",
                                                     "default",
                                                     "tile_y=1x1x1",
                                                     "--threads",
                                                     "--help",
                                                     "-",
                                                     "unix:",
                                                     "127.0.0.1:1",
                                                     "localhost:99999999",
                                                     "on",
                                                     "off",
                                                     "random",
                                                     "evolve",
                                                     "NCHW",
                                                     "ncHw16c",
                                                     "[1,2",
                                                     "\"",
                                                     "'",
                                                     "\\",
                                                     "$HOME",
                                                     "%s%n%s",
                                                     "two\nlines",
                                                     "tab\tand\rreturn",
                                                     "\x1b[2J",
                                                     "\xff\xfe",
                                                     "\xc3",
                                                     "\xed\xa0\x80",
                                                     "\xf0\x9f\x98\x80",
                                                     "\xc2\x9b"
                                                     "2J",
                                                     "#",
                                                     "[section]"});

// The numbers keep the work small when a search or a build is really done.
const char* harmless(const char* flag) {
  if (!std::strcmp(flag, "--trials") || !std::strcmp(flag, "--seconds")) return "1";
  if (!std::strcmp(flag, "--repeat") || !std::strcmp(flag, "--timeout")) return "1";
  if (!std::strcmp(flag, "--min-repeat-ms")) return "0.1";
  return nullptr;
}

bool writes_a_file(const char* flag) {
  static constexpr std::array<const char*, 7> kWriting = {"-o",     "--weights", "--report", "--ranges",
                                                          "--plot", "--out",     "export"};
  for (const char* w : kWriting)
    if (!std::strcmp(flag, w)) return true;
  return false;
}

bool makes_a_file(const char* flag) { return writes_a_file(flag) || !std::strcmp(flag, "--db"); }

std::string value_of(const char* flag, const Files& files, const std::string& folder, std::mt19937_64& rng) {
  if (const char* value = harmless(flag)) return value;
  if (writes_a_file(flag)) return rng() % 2 ? folder + "/out" : files.path("folder");
  if (!std::strcmp(flag, "--db")) return files.some_database(rng);
  if (!std::strcmp(flag, "--model")) return files.some_model(rng);
  static constexpr std::array<const char*, 9> kReading = {
      "--inputs", "--calibrate", "--sysroot", "--compare", "--tasks", "import", "merge", "--flags-file", "--ranges"};
  for (const char* r : kReading)
    if (!std::strcmp(flag, r)) return files.some_text(rng);
  return odd_text(rng);
}

}  // namespace

std::string odd_text(std::mt19937_64& rng) {
  switch (rng() % 24) {
    case 0: return std::string(1 + rng() % 20000, 'a');
    case 1: return std::string(5000, static_cast<char>(0x80 + rng() % 0x80));
    case 2: {
      std::string bytes;
      for (uint64_t n = rng() % 20; n > 0; --n) bytes += static_cast<char>(1 + rng() % 255);
      return bytes;
    }
    case 3: return std::string(some(kValues, rng)) + "," + some(kValues, rng);
    case 4: {
      // Cut in the middle of a character wherever it is cut.
      std::string text(rng() % 4, 'a');
      for (int i = 0; i < 3000; ++i) text += "\xf0\x9f\x98\x80";
      return text;
    }
    default: return some(kValues, rng);
  }
}

std::vector<std::string> odd_options(const std::string& program, const Files& files, const std::string& folder,
                                     std::mt19937_64& rng) {
  std::vector<std::string> out;
  for (uint64_t n = rng() % 5; n > 0; --n) {
    const char* flag = program == "tensorc" ? some(kTensorc, rng)
                       : program == "tuner" ? some(kTuner, rng)
                                            : some(kTophub, rng);
    const std::string value = value_of(flag, files, folder, rng);
    switch (flag[0] == '-' ? rng() % 6 : 1) {
      case 0:
        if (!makes_a_file(flag)) out.emplace_back(flag);
        break;
      case 1:
      case 2:
        out.emplace_back(flag);
        // Else the next word would be the name of a file, wherever this is.
        if (makes_a_file(flag) || rng() % 4) out.push_back(value);
        break;
      case 3: out.push_back(value); break;
      default: out.push_back(std::string(flag) + "=" + value); break;
    }
  }
  return out;
}

std::string wrong_with_text(const char* text, bool lines) {
  const auto* at = reinterpret_cast<const unsigned char*>(text);
  while (*at) {
    const unsigned char b = *at;
    const size_t more = b < 0x80                ? 0
                        : b >= 0xc2 && b < 0xe0 ? 1
                        : b >= 0xe0 && b < 0xf0 ? 2
                        : b >= 0xf0 && b < 0xf5 ? 3
                                                : 4;
    if (more == 4) return "a byte that begins no character: " + std::to_string(b);
    for (size_t i = 1; i <= more; ++i)
      if ((at[i] & 0xc0) != 0x80) return "a character that is cut off";
    if ((b == 0xed && at[1] > 0x9f) || (b == 0xe0 && at[1] < 0xa0) || (b == 0xf0 && at[1] < 0x90))
      return "no character";
    if (b == '\n' && !lines && (at[1] != ' ' || at[2] != ' ')) return "a line end";
    if ((b < 0x20 && b != '\n' && !(lines && b == '\t')) || b == 0x7f || (b == 0xc2 && at[1] < 0xa0))
      return "a control character: " + std::to_string(b);
    at += more + 1;
  }
  return "";
}

}  // namespace hone::fuzz
