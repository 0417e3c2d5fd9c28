#include "tests/bench/models/side_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "base/text.h"
#include "tests/bench/models/line_channel.h"

namespace hone::bench {
namespace {

double processor_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

StatusOr<Buffers> buffers_of(const SideCase& c) {
  Buffers b;
  for (const SideTensor& t : c.inputs) {
    Memory memory = allocate(t.bytes);
    std::ifstream in(t.file, std::ios::binary);
    if (!in.read(static_cast<char*>(memory.get()), t.bytes))
      return usage_error(fmt::format("{}: does not hold the {} bytes of input '{}'", t.file, t.bytes, t.name));
    b.inputs.push_back(std::move(memory));
  }
  for (const SideTensor& t : c.outputs) b.outputs.push_back(allocate(t.bytes));
  return b;
}

Status write_outputs(const SideCase& c, const Buffers& b) {
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    std::ofstream out(c.outputs[o].file, std::ios::binary);
    if (!out.write(static_cast<const char*>(b.outputs[o].get()), c.outputs[o].bytes).flush())
      return usage_error(fmt::format("{}: cannot be written", c.outputs[o].file));
  }
  return absl::OkStatus();
}

Status answer(const std::string& file, const OpenEngine& open, LineChannel& channel) {
  HONE_ASSIGN_OR_RETURN(const SideCase c, read_side_case(file));
  HONE_ASSIGN_OR_RETURN(const Buffers buffers, buffers_of(c));
  HONE_ASSIGN_OR_RETURN(const Opened opened, open(c, buffers));
  const double start = now_ms();
  HONE_RETURN_IF_ERROR(opened.engine->run());
  const double first_run_ms = now_ms() - start;
  HONE_RETURN_IF_ERROR(write_outputs(c, buffers));
  HONE_RETURN_IF_ERROR(channel.write(OrderedJson{
      {"version", opened.version},
      {"library_ms", opened.library_ms},
      {"open_ms", opened.open_ms},
      {"first_run_ms", first_run_ms}}.dump()));
  for (;;) {
    const StatusOr<std::string> line = channel.read();
    if (absl::IsUnavailable(line.status())) return absl::OkStatus();
    HONE_RETURN_IF_ERROR(line.status());
    if (*line == "layers" && !c.layers_file.empty()) {
      HONE_ASSIGN_OR_RETURN(const std::vector<LayerTime> layers, opened.engine->layers(c.turn));
      HONE_RETURN_IF_ERROR(write_atomically(c.layers_file, to_json(layers).dump()));
      HONE_RETURN_IF_ERROR(channel.write(OrderedJson{{"layers", layers.size()}}.dump()));
      return absl::OkStatus();
    }
    if (*line != "turn") return usage_error(fmt::format("'{}' is no request; there are: turn, layers", *line));
    HONE_ASSIGN_OR_RETURN(const double ms, turn_ms(
                                               c.turn, [&] { return opened.engine->run(); },
                                               c.by_processor_time ? processor_ms : now_ms));
    HONE_RETURN_IF_ERROR(channel.write(OrderedJson{{"ms", ms}}.dump()));
  }
}

}  // namespace

void FreeMemory::operator()(void* data) const { std::free(data); }

Memory allocate(int64_t bytes) {
  constexpr int64_t kLine = 64;
  const auto size = static_cast<size_t>(std::max<int64_t>(1, (bytes + kLine - 1) / kLine) * kLine);
  Memory memory(std::aligned_alloc(kLine, size));
  if (!memory) throw std::bad_alloc();
  std::memset(memory.get(), 0, size);
  return memory;
}

StatusOr<double> turn_ms(const TurnRules& rules, const std::function<Status()>& run,
                         const std::function<double()>& now) {
  HONE_RETURN_IF_ERROR(run());
  std::vector<double> times;
  const double begin = now();
  for (double start = begin; static_cast<int>(times.size()) < rules.least_runs || start - begin < rules.least_ms;) {
    HONE_RETURN_IF_ERROR(run());
    const double end = now();
    times.push_back(end - start);
    start = end;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

int serve(const std::string& file, const OpenEngine& open, int channel) {
  LineChannel lines(channel);
  Status status;
  try {
    status = answer(file, open, lines);
  } catch (const std::exception& e) {  // of files, and of what others wrote
    status = absl::InternalError(clean_line(e.what()));
  }
  if (status.ok()) return kExitDone;
  (void)lines.write(OrderedJson{{"error", message_of(status)}}.dump());
  return exit_code_of(status);
}

}  // namespace hone::bench
