#include "tuner/features/gpu_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "compiler/target/occupancy.h"

namespace hone::nest {
namespace {

constexpr int kMostLanes = 64;
constexpr size_t kMostPieces = size_t{kMostLanes} * 4;
constexpr double kSectorBytes = 32, kBanks = 32, kBankBytes = 4, kVectorBytes = 16;
// NVIDIA's multiprocessors since Pascal, to within a factor that ranking does not notice: f32 lanes, the gain of tensor
// cores over them, bytes a cycle from L2 and from device memory, threads that it holds.
constexpr double kLanes = 128, kTensorGain = 8, kGpuBytesFromL2 = 48, kBytesFromMemory = 14;
constexpr double kMostThreads = 2048;
// Registers for addresses and loop counters; cycles of a barrier; warps that a scheduler needs to hide latencies.
constexpr double kOtherRegisters = 26, kBarrierCycles = 30, kWarpsThatHide = 16;
constexpr double kNotHidden = 0.25;  // share of the shorter times that the longest does not hide

using Lanes = std::array<int64_t, kMostLanes>;

// The value of an integer expression in each lane: thread loops by their digit of the thread's number, all others at
// their first iteration. Nothing where the value depends on memory.
class LaneEvaluator {
 public:
  LaneEvaluator(const Statement& s, int lanes) : s_(s), lanes_(lanes) {
    double step = 1;
    for (int l = s.depth; l-- > 0;) {
      const Loop& loop = s.loops[static_cast<size_t>(l)];
      if (loop.kind != LoopKind::kThread) continue;
      step_[static_cast<size_t>(l)] = step;
      step *= loop.extent;
    }
  }

  std::optional<Lanes> operator()(const ExprNode* e) const {
    Lanes out{};
    if (!evaluate(e, &out)) return std::nullopt;
    return out;
  }

 private:
  bool evaluate(const ExprNode* e, Lanes* out) const {
    switch (e->kind) {
      case ExprKind::kIntImm: out->fill(static_cast<const IntImm*>(e)->value); return true;
      case ExprKind::kVar: return variable(e, out);
      case ExprKind::kCast: return evaluate(static_cast<const Cast*>(e)->value.get(), out);
      case ExprKind::kRamp: return evaluate(static_cast<const Ramp*>(e)->base.get(), out);
      case ExprKind::kBroadcast: return evaluate(static_cast<const Broadcast*>(e)->value.get(), out);
      case ExprKind::kSelect: return evaluate(static_cast<const Select*>(e)->on_true.get(), out);
      case ExprKind::kBinary: return binary(static_cast<const Binary*>(e), out);
      default: return false;
    }
  }

  bool variable(const ExprNode* e, Lanes* out) const {
    for (int l = s_.depth; l-- > 0;) {
      const Loop& loop = s_.loops[static_cast<size_t>(l)];
      if (loop.var != e) continue;
      for (int t = 0; t < lanes_; ++t)
        (*out)[static_cast<size_t>(t)] =
            static_cast<int64_t>(loop.low) +
            (loop.kind == LoopKind::kThread
                 ? static_cast<int64_t>(std::fmod(std::floor(t / step_[static_cast<size_t>(l)]), loop.extent))
                 : 0);
      return true;
    }
    out->fill(0);
    return true;
  }

  bool binary(const Binary* op, Lanes* out) const {
    Lanes b{};
    if (!evaluate(op->a.get(), out) || !evaluate(op->b.get(), &b)) return false;
    for (size_t t = 0; t < static_cast<size_t>(lanes_); ++t) {
      int64_t& x = (*out)[t];
      const int64_t y = b[t];
      switch (op->op) {
        case BinaryOp::kAdd: x += y; break;
        case BinaryOp::kSub: x -= y; break;
        case BinaryOp::kMul: x *= y; break;
        case BinaryOp::kMin: x = std::min(x, y); break;
        case BinaryOp::kMax: x = std::max(x, y); break;
        case BinaryOp::kFloorDiv:
        case BinaryOp::kFloorMod: {
          if (y == 0) return false;
          const int64_t q = x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
          x = op->op == BinaryOp::kFloorDiv ? q : x - q * y;
          break;
        }
        default: return false;
      }
    }
    return true;
  }

  const Statement& s_;
  const int lanes_;
  std::array<double, kMaxLoops> step_{};
};

// Distinct values of `n` numbers.
int64_t distinct(std::array<int64_t, kMostPieces>& values, size_t n) {
  std::sort(values.begin(), values.begin() + static_cast<ptrdiff_t>(n));
  return std::unique(values.begin(), values.begin() + static_cast<ptrdiff_t>(n)) - values.begin();
}

void touch_memory(const Lanes& at, int lanes, double bytes, WarpAccess* a) {
  std::array<int64_t, kMostPieces> pieces{};
  size_t n = 0;
  double asked = 0;
  for (int t = 0; t < lanes; ++t) {
    const double from = static_cast<double>(at[static_cast<size_t>(t)]) * bytes, to = from + a->vector * bytes;
    for (double p = std::floor(from / kSectorBytes); p * kSectorBytes < to && n < pieces.size(); ++p)
      pieces[n++] = static_cast<int64_t>(p);
    asked += a->vector * bytes;
  }
  a->sectors = static_cast<double>(std::max<int64_t>(1, distinct(pieces, n)));
  a->useful = std::min(1.0, asked / (a->sectors * kSectorBytes));
}

void touch_banks(const Lanes& at, int lanes, double bytes, WarpAccess* a) {
  std::array<int64_t, kMostPieces> words{};
  size_t n = 0;
  for (int t = 0; t < lanes; ++t) {
    const double from = static_cast<double>(at[static_cast<size_t>(t)]) * bytes;
    for (double w = std::floor(from / kBankBytes); w * kBankBytes < from + a->vector * bytes && n < words.size(); ++w)
      words[n++] = static_cast<int64_t>(w);
  }
  const int64_t different = distinct(words, n);
  std::array<int, static_cast<size_t>(kBanks)> of_bank{};
  for (int64_t i = 0; i < different; ++i)
    ++of_bank[static_cast<size_t>(((words[static_cast<size_t>(i)] % 32) + 32) % 32)];
  a->wavefronts = std::max(1.0, static_cast<double>(*std::max_element(of_bank.begin(), of_bank.end())));
}

WarpAccess warp_access(const GpuStatement& g, const Access& access, int lanes, const LaneEvaluator& evaluate) {
  const Statement& s = *g.statement;
  WarpAccess a;
  a.access = &access;
  const double bytes = access.element_bytes();
  const int last = s.depth - 1;
  if (last >= g.body && s.loops[static_cast<size_t>(last)].kind == LoopKind::kVectorize &&
      access.index.coefficient[static_cast<size_t>(last)] == 1)
    a.vector = std::max(1.0, std::min(s.loops[static_cast<size_t>(last)].extent, kVectorBytes / bytes));
  a.loads = g.executions / s.iterations(g.body) * std::max(1.0, s.touch(access, g.body).elements / a.vector) / g.tensor;
  const std::optional<Lanes> at = access.at ? evaluate(access.at) : std::nullopt;
  if (!at) return a;
  if (access.buffer->scope == BufferScope::kShared)
    touch_banks(*at, lanes, bytes, &a);
  else
    touch_memory(*at, lanes, bytes, &a);
  return a;
}

// Registers for the operands of the straight-line body: of a sum only one step's operands at a time.
double operands(const GpuStatement& g) {
  const Statement& s = *g.statement;
  const Access& store = s.accesses.front();
  double registers = 0;
  for (size_t i = 1; i < s.accesses.size(); ++i) {
    const Access& a = s.accesses[i];
    if (a.buffer == store.buffer) continue;
    double values = a.element_bytes() / kBankBytes;
    for (int l = g.body; l < s.depth; ++l)
      if (a.index.coefficient[static_cast<size_t>(l)] != 0 && store.index.coefficient[static_cast<size_t>(l)] != 0)
        values *= s.loops[static_cast<size_t>(l)].extent;
    registers += values;
  }
  return registers;
}

}  // namespace

GpuStatement gpu_statement(const Statement& s, const Target& target) {
  GpuStatement g;
  g.statement = &s;
  g.body = s.depth;
  for (int l = 0; l < s.depth; ++l) {
    const Loop& loop = s.loops[static_cast<size_t>(l)];
    if (loop.kind == LoopKind::kBlock) g.blocks *= loop.extent;
    if (loop.kind == LoopKind::kThread) g.threads *= loop.extent;
    if (loop.kind == LoopKind::kWarp) g.tensor *= loop.extent;
  }
  const auto straight = [&](const Loop& l) {
    return l.kind == LoopKind::kUnroll || l.kind == LoopKind::kVectorize || l.kind == LoopKind::kWarp || l.extent == 1;
  };
  while (g.body > 0 && straight(s.loops[static_cast<size_t>(g.body - 1)])) --g.body;
  g.executions = s.executions / (g.blocks * g.threads);
  const int lanes = std::clamp(target.warp, 1, kMostLanes);
  const LaneEvaluator evaluate(
      s, std::min<int>(lanes, std::max(1, static_cast<int>(std::min<double>(g.threads, kMostLanes)))));
  for (const Access& a : s.accesses)
    if (a.buffer->scope != BufferScope::kStack)
      g.accesses.push_back(
          warp_access(g, a, std::min<int>(lanes, static_cast<int>(std::min<double>(g.threads, kMostLanes))), evaluate));
  return g;
}

double GpuSummary::occupancy(const Target& target) const {
  return std::min(
      1.0, resident_blocks * std::ceil(threads / std::max(1, target.warp)) * std::max(1, target.warp) / kMostThreads);
}

GpuSummary gpu_summary(const Module& m, const Nests& nests, const Target& target) {
  GpuSummary g;
  for (const Statement& s : nests.statements) g.statements.push_back(gpu_statement(s, target));
  double widest_body = 0;
  for (const GpuStatement& s : g.statements) {
    g.blocks = std::max(g.blocks, s.blocks);
    g.threads = std::max(g.threads, s.threads);
    g.flops += s.statement->executions * s.statement->ops.work();
    const double warps = s.blocks * std::ceil(s.threads / std::max(1, target.warp));
    for (const WarpAccess& a : s.accesses) {
      if (a.access->buffer->scope == BufferScope::kShared) {
        g.shared_cycles += warps * a.loads * a.wavefronts;
      } else {
        g.global_bytes += warps * a.loads * a.sectors * kSectorBytes;
      }
    }
    widest_body = std::max(widest_body, std::min(operands(s), 64.0));
  }
  g.shared_bytes = nests.block_shared_bytes;
  g.barriers = nests.thread_nests;
  g.registers = kOtherRegisters + nests.block_stack_bytes / kBankBytes / g.threads + widest_body;
  for (const Param& p : m.params) g.least_bytes += static_cast<double>(p.layout.physical_size() * p.dtype.lane_bytes());
  const int64_t warps = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(g.threads / std::max(1, target.warp))));
  const BlockNeeds needs{static_cast<int64_t>(g.threads), static_cast<int64_t>(std::min(g.registers, 255.0)),
                         static_cast<int64_t>(g.shared_bytes)};
  g.resident_blocks = std::max(1.0, static_cast<double>(resident_warps(target, needs)) / static_cast<double>(warps));
  g.waves = g.blocks / (std::max(1, target.sms) * g.resident_blocks);
  return g;
}

double GpuCycles::total() const {
  const double sum = compute + shared + global + memory + issue,
               longest = std::max({compute, shared, global, memory, issue});
  return (longest + kNotHidden * (sum - longest) + barriers) * tail / std::max(hidden, 1e-3);
}

GpuCycles gpu_cycles(const GpuSummary& g, const Target& target) {
  const double sms = std::max(1, target.sms), used = std::min(sms, g.blocks);
  GpuCycles c;
  for (const GpuStatement& s : g.statements) {
    const double work = s.statement->executions * s.statement->ops.work();
    c.compute += work / (2 * kLanes * used * (s.tensor > 1 ? kTensorGain : 1));
    // Instructions: a warp's at a time on four schedulers; addresses are computed again where loops are not unrolled.
    const double warps = s.blocks * std::ceil(s.threads / std::max(1, target.warp));
    double loads = 0;
    for (const WarpAccess& a : s.accesses) loads += a.loads;
    c.issue += warps *
               (s.executions / s.tensor * std::max(0.5, 0.5 * s.statement->ops.work()) + 2 * loads +
                s.executions / s.statement->iterations(s.body) * 4) /
               (4 * used);
  }
  c.shared = g.shared_cycles / used;
  c.global = g.global_bytes / (kGpuBytesFromL2 * used);
  c.memory = g.least_bytes / (kBytesFromMemory * sms);
  const double rounds = std::ceil(g.blocks / (sms * g.resident_blocks));
  c.barriers = g.barriers * kBarrierCycles * rounds;
  c.tail = g.waves > 0 ? std::max(1.0, std::ceil(g.blocks / sms) * sms / g.blocks) : 1;
  if (g.blocks < sms) c.tail = 1;  // `used` contains this already
  const double resident =
      std::min(g.resident_blocks, std::ceil(g.blocks / sms)) * std::ceil(g.threads / std::max(1, target.warp));
  c.hidden = std::min(1.0, 0.2 + 0.8 * resident / kWarpsThatHide);
  return c;
}

}  // namespace hone::nest
