// Interpreter, second half: walks the program recursively. A vector value is never formed: an expression is evaluated
// once for each lane, so masks and selects are lazy without further code.
#include "compiler/ir/interp.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "compiler/ir/interp_arithmetic.h"
#include "compiler/ir/interp_program.h"
#include "compiler/ir/race_tracker.h"

namespace hone {
namespace {

using namespace interp;

struct Storage {
  std::byte* data = nullptr;
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  int64_t size = 0;
  // An element of a workspace or stack buffer (or of a parameter that says so) has been written when its stamp is the
  // current one; each time the buffer is allocated begins a new stamp.
  bool tracked = false;
  uint32_t stamp = 0;
  std::vector<uint32_t> stamps;
  std::vector<std::byte> memory;
  RaceTracker races;  // set for memory that several threads of a GPU can access; else empty
};

// One of the threads that run from barrier to barrier: its private state.
struct Thread {
  int64_t number = 0;
  std::vector<int64_t> vars;
  std::vector<std::pair<int32_t, Storage>> own;  // buffers allocated inside the thread loop, by slot
};

class Runner {
 public:
  Runner(const Function& f, Unwritten unwritten)
      : function_(f),
        unwritten_(unwritten),
        program_(compile(f)),
        vars_(static_cast<size_t>(program_.var_count)),
        storage_(program_.buffers.size()) {
    for (size_t i = 0; i < storage_.size(); ++i) {
      const BufferSlot& slot = program_.buffers[i];
      storage_[i].name = slot.buffer->name;
      storage_[i].dtype = slot.buffer->dtype;
      storage_[i].tracked = slot.tracked;
      storage_[i].shape.resize(slot.extents.size());
    }
  }

  void run(const std::vector<InterpArg>& args, const std::vector<int64_t>& shape_args) {
    HONE_USER_CHECK(shape_args.size() == function_.shape_vars.size())
        << "function '" << function_.name << "' takes " << function_.shape_vars.size() << " shape values, not "
        << shape_args.size();
    HONE_USER_CHECK(args.size() == function_.params.size())
        << "function '" << function_.name << "' takes " << function_.params.size() << " tensors, not " << args.size();
    std::copy(shape_args.begin(), shape_args.end(), vars_.begin());
    for (size_t i = 0; i < args.size(); ++i) {
      set_shape(static_cast<int32_t>(i));
      Storage& b = storage_[i];
      HONE_USER_CHECK(args[i].size == b.size) << "tensor '" << b.name << "' of function '" << function_.name << "' has "
                                              << b.size << " elements, not " << args[i].size;
      b.data = static_cast<std::byte*>(args[i].data);
      if (program_.for_gpu) b.races.reset(b.size);
      if (args[i].written) track(b, *args[i].written);
    }
    if (program_.body >= 0) exec(program_.body);
    for (size_t i = 0; i < args.size(); ++i)
      if (args[i].written)
        for (size_t e = 0; e < args[i].written->size(); ++e) (*args[i].written)[e] = storage_[i].stamps[e] == 1;
  }

 private:
  void set_shape(int32_t slot) {
    Storage& b = storage_[slot];
    const std::vector<int32_t>& extents = program_.buffers[slot].extents;
    for (size_t i = 0; i < b.shape.size(); ++i) b.shape[i] = eval_int(extents[i], 0);
    b.size = element_count(b.shape);
  }

  void track(Storage& b, const std::vector<bool>& written) {
    HONE_USER_CHECK(static_cast<int64_t>(written.size()) == b.size)
        << "of tensor '" << b.name << "' " << written.size() << " elements are known, not " << b.size;
    b.tracked = true;
    b.stamp = 1;
    b.stamps.assign(written.begin(), written.end());
  }

  // The element of `b` that the indices select.
  int64_t element(const Storage& b, int32_t first, int32_t count, int lane) {
    if (count == 1 && b.shape.size() != 1) {
      const int64_t i = certain_int(program_.lists[first], lane, "an index");
      if (i < 0 || i >= b.size) out_of_bounds(b, i, b.size, -1);
      return i;
    }
    int64_t flat = 0;
    for (int32_t d = 0; d < count; ++d) {
      const int64_t i = certain_int(program_.lists[first + d], lane, "an index");
      if (i < 0 || i >= b.shape[d]) out_of_bounds(b, i, b.shape[d], count > 1 ? d : -1);
      flat = flat * b.shape[d] + i;
    }
    return flat;
  }

  [[noreturn]] void out_of_bounds(const Storage& b, int64_t index, int64_t extent, int dimension) {
    throw UserError(fmt::format("function '{}': buffer '{}' is accessed at index {}{}, outside its extent {}",
                                function_.name, b.name, index,
                                dimension < 0 ? "" : fmt::format(" of dimension {}", dimension), extent));
  }

  // An unwritten element is poison: no decision may depend on it, and no arithmetic where the caller says so.
  [[noreturn]] void poisoned(std::string_view what) {
    throw UserError(
        fmt::format("function '{}': element {} of buffer '{}' is read before it is written, and {} depends on it",
                    function_.name, poison_element_, poison_->name, what));
  }

  // An integer that decides something: a condition, an index, an extent.
  int64_t certain_int(int32_t index, int lane, std::string_view what) {
    const Storage* outer = std::exchange(poison_, nullptr);
    const int64_t v = eval_int(index, lane);
    if (poison_) poisoned(what);
    poison_ = outer;
    return v;
  }

  void check_computed(ExprKind kind) {
    const bool computes = kind == ExprKind::kBinary || kind == ExprKind::kCast || kind == ExprKind::kCall;
    if (poison_ && computes && unwritten_ == Unwritten::kMayBeMoved) poisoned("arithmetic");
  }

  // Evaluates operands that a machine computes, too, though their value is not used: masked lanes, and the side of a
  // selection that is not chosen.
  template <class Evaluate>
  void beside(const Evaluate& evaluate) {
    if (unwritten_ != Unwritten::kMayBeMoved || program_.for_gpu) return;
    const Storage* outer = std::exchange(poison_, nullptr);
    const bool was_beside = std::exchange(is_beside_, true);
    evaluate();
    is_beside_ = was_beside;
    poison_ = outer;
  }

  // Whether a load whose result is not used reads all the same: registers, stack buffers at constant positions.
  bool is_register(const ENode& n) const {
    const BufferNode* b = program_.buffers[static_cast<size_t>(n.a)].buffer.get();
    const ENode& index = program_.exprs[static_cast<size_t>(program_.lists[static_cast<size_t>(n.b)])];
    if (b->scope != BufferScope::kStack || n.c != 1) return false;
    if (index.kind != ExprKind::kRamp) return index.kind == ExprKind::kIntImm;
    const ENode &base = program_.exprs[static_cast<size_t>(index.a)],
                &stride = program_.exprs[static_cast<size_t>(index.b)];
    return base.kind == ExprKind::kIntImm && stride.kind == ExprKind::kIntImm && stride.int_value == 1 &&
           base.int_value >= 0 && base.int_value + lanes_ <= storage_[static_cast<size_t>(n.a)].size;
  }

  const std::byte* address(const ENode& n, int lane, DType* dtype) {
    Storage& b = storage_[n.a];
    if (is_beside_ && !is_register(n)) {
      static constexpr std::byte kZero[8]{};
      *dtype = b.dtype;
      return kZero;
    }
    const int64_t i = element(b, n.b, n.c, lane);
    if (b.tracked && b.stamps[i] != b.stamp && !poison_) {
      poison_ = &b;
      poison_element_ = i;
    }
    if (in_launch() && !b.races.empty())
      if (const auto other = b.races.read(i, here_)) raced(b, i, *other, "reads");
    *dtype = b.dtype;
    return b.data + i * b.dtype.lane_bytes();
  }

  int64_t load_int(const ENode& n, int lane) {
    DType t;
    const std::byte* p = address(n, lane, &t);
    return get_int(p, t);
  }

  int64_t divide(const ENode& n, int64_t a, int64_t b) {
    if (b == 0 && is_beside_) return 0;
    if (b == 0) throw UserError(fmt::format("function '{}': {} by zero", function_.name, symbol_of(n.op)));
    const bool quotient = n.op == BinaryOp::kFloorDiv;
    if (n.wrap.is_u64()) {
      const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      return static_cast<int64_t>(quotient ? x / y : x % y);
    }
    // The lowest value wraps.
    if (b == -1) return quotient ? n.wrap(static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(a))) : 0;
    return quotient ? floor_div(a, b) : floor_mod(a, b);
  }

  int64_t binary_int(const ENode& n, int lane) {
    if (n.op >= BinaryOp::kEq && n.op <= BinaryOp::kLe) {
      if (n.operand_kind == Kind::kF32)
        return compare(n.op, eval_float<float>(n.a, lane), eval_float<float>(n.b, lane));
      if (n.operand_kind == Kind::kF64)
        return compare(n.op, eval_float<double>(n.a, lane), eval_float<double>(n.b, lane));
      const int64_t a = eval_int(n.a, lane), b = eval_int(n.b, lane);
      return n.operand_wrap.is_u64() ? compare(n.op, static_cast<uint64_t>(a), static_cast<uint64_t>(b))
                                     : compare(n.op, a, b);
    }
    // Both sides, also of && and ||: compiled code evaluates both.
    const int64_t a = eval_int(n.a, lane), b = eval_int(n.b, lane);
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    switch (n.op) {
      case BinaryOp::kAdd: return n.wrap(static_cast<int64_t>(x + y));
      case BinaryOp::kSub: return n.wrap(static_cast<int64_t>(x - y));
      case BinaryOp::kMul: return n.wrap(static_cast<int64_t>(x * y));
      case BinaryOp::kMin: return (n.wrap.is_u64() ? x < y : a < b) ? a : b;
      case BinaryOp::kMax: return (n.wrap.is_u64() ? x > y : a > b) ? a : b;
      case BinaryOp::kAnd: return a & b;
      case BinaryOp::kOr: return a | b;
      default: return divide(n, a, b);
    }
  }

  int64_t cast_int(const ENode& n, int lane) {
    if (n.operand_kind == Kind::kF32) return to_int(eval_float<float>(n.a, lane), n);
    if (n.operand_kind == Kind::kF64) return to_int(eval_float<double>(n.a, lane), n);
    const int64_t v = eval_int(n.a, lane);
    return n.to_bool ? v != 0 : n.wrap(v);
  }

  int64_t eval_int(int32_t index, int lane) {
    const ENode& n = program_.exprs[index];
    const int64_t value = eval_unchecked(n, lane);
    check_computed(n.kind);
    return value;
  }

  int64_t eval_unchecked(const ENode& n, int lane) {
    switch (n.kind) {
      case ExprKind::kIntImm: return n.int_value;
      case ExprKind::kVar: return vars_[n.a];
      case ExprKind::kBinary: return binary_int(n, lane);
      case ExprKind::kCast: return cast_int(n, lane);
      case ExprKind::kNot: return eval_int(n.a, lane) == 0;
      case ExprKind::kSelect: {
        const bool holds = certain_int(n.a, lane, "a condition") != 0;
        beside([&] { eval_int(holds ? n.c : n.b, lane); });
        return eval_int(holds ? n.b : n.c, lane);
      }
      case ExprKind::kLoad: return load_int(n, lane);
      case ExprKind::kRamp: {
        const auto step = static_cast<uint64_t>(eval_int(n.b, 0)) * static_cast<uint64_t>(lane);
        return n.wrap(static_cast<int64_t>(static_cast<uint64_t>(eval_int(n.a, 0)) + step));
      }
      case ExprKind::kBroadcast: return eval_int(n.a, 0);
      case ExprKind::kCall:
        if (n.function == Intrinsic::kAbs) {
          const int64_t v = eval_int(n.a, lane);
          return v < 0 && n.wrap.is_signed ? n.wrap(static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(v))) : v;
        }
        if (n.function == Intrinsic::kDot4) {
          int64_t sum = 0;
          const auto first = static_cast<size_t>(n.b);
          for (size_t t = first; t < first + 4; ++t)
            sum += eval_int(program_.lists[t], lane) * eval_int(program_.lists[t + 4], lane);
          return sum;
        }
        throw UserError(fmt::format("function '{}': {} takes floats", function_.name, name_of(n.function)));
      default: throw UserError(fmt::format("function '{}': a float stands where an integer is needed", function_.name));
    }
  }

  template <class F>
  F binary_float(const ENode& n, int lane) {
    const F a = eval_float<F>(n.a, lane), b = eval_float<F>(n.b, lane);
    const std::optional<F> result = of_floats(n.op, a, b);
    if (!result) throw UserError(fmt::format("function '{}': {} of floats", function_.name, symbol_of(n.op)));
    return *result;
  }

  template <class F>
  F call_float(const ENode& n, int lane) {
    if (n.function == Intrinsic::kDot2) {
      const auto argument = [&](int64_t i) {
        return eval_float<F>(program_.lists[static_cast<size_t>(n.b + i)], lane);
      };
      return argument(0) * argument(2) + argument(1) * argument(3);
    }
    const F a = eval_float<F>(n.a, lane);
    if (n.function != Intrinsic::kFma) return of_float(n.function, a);
    return std::fma(a, eval_float<F>(n.b, lane), eval_float<F>(n.c, lane));
  }

  // 16-bit arithmetic is computed in 32 bits and rounded: every sum, product and quotient comes out as if computed
  // exactly and rounded once.
  template <class F>
  F eval_float(int32_t index, int lane) {
    const ENode& n = program_.exprs[index];
    const F value = eval_unrounded<F>(n, lane);
    check_computed(n.kind);
    return n.narrow ? static_cast<F>(n.widen(n.narrow(static_cast<float>(value)))) : value;
  }

  template <class F>
  F eval_unrounded(const ENode& n, int lane) {
    switch (n.kind) {
      case ExprKind::kFloatImm: return static_cast<F>(n.float_value);
      case ExprKind::kBinary: return binary_float<F>(n, lane);
      case ExprKind::kLoad: {
        DType t;
        const std::byte* p = address(n, lane, &t);
        return n.widen ? static_cast<F>(n.widen(raw<uint16_t>(p))) : raw<F>(p);
      }
      case ExprKind::kCast: {
        if (n.operand_kind == Kind::kF32) return static_cast<F>(eval_float<float>(n.a, lane));
        if (n.operand_kind == Kind::kF64) return static_cast<F>(eval_float<double>(n.a, lane));
        const int64_t v = eval_int(n.a, lane);
        return n.operand_wrap.is_u64() ? static_cast<F>(static_cast<uint64_t>(v)) : static_cast<F>(v);
      }
      case ExprKind::kSelect: {
        const bool holds = certain_int(n.a, lane, "a condition") != 0;
        beside([&] { eval_float<F>(holds ? n.c : n.b, lane); });
        return eval_float<F>(holds ? n.b : n.c, lane);
      }
      case ExprKind::kCall: return call_float<F>(n, lane);
      case ExprKind::kBroadcast: return eval_float<F>(n.a, 0);
      case ExprKind::kRamp: return eval_float<F>(n.a, 0) + static_cast<F>(lane) * eval_float<F>(n.b, 0);
      default: throw UserError(fmt::format("function '{}': an integer stands where a float is needed", function_.name));
    }
  }

  // --- execution ---

  // --- GPU loops ---

  bool in_launch() const { return blocks_open_ + threads_open_ > 0; }

  [[noreturn]] void raced(const Storage& b, int64_t element, const Position& other, std::string_view what) {
    const auto name = [](const Position& p) { return fmt::format("thread {} of block {}", p.thread, p.block); };
    throw UserError(fmt::format(
        "function '{}': race: {} {} element {} of buffer '{}', which {} touched, and no barrier stands between",
        function_.name, name(here_), what, element, b.name, name(other)));
  }

  void run_blocks(const SNode& n, int64_t lo, int64_t extent) {
    if (blocks_open_++ == 0 && threads_open_ == 0) ++here_.launch;
    const int64_t outer = here_.block;
    for (int64_t i = 0; i < extent; ++i) {
      vars_[n.slot] = lo + i;
      here_.block = outer * extent + i;
      ++here_.epoch;
      exec(program_.lists[n.first]);
    }
    here_.block = outer;
    --blocks_open_;
  }

  void run_threads(const SNode& n, int64_t lo, int64_t extent) {
    if (n.has_barrier) return run_together(n);
    if (blocks_open_ == 0 && threads_open_ == 0) ++here_.launch;
    if (threads_open_++ == 0) ++here_.epoch;  // accesses of the block's own statements end here
    const int64_t outer = here_.thread;
    for (int64_t i = 0; i < extent; ++i) {
      vars_[n.slot] = lo + i;
      here_.thread = outer * extent + i;
      exec(program_.lists[n.first]);
    }
    here_.thread = outer;
    if (--threads_open_ == 0) ++here_.epoch;  // all have ended
  }

  // A nest of thread loops with barriers inside: the threads of all of them advance from one barrier to the next.
  void run_together(const SNode& outermost) {
    if (blocks_open_ == 0) ++here_.launch;
    std::vector<Thread> threads{{0, vars_, {}}};
    const SNode* n = &outermost;
    int32_t body = -1;
    while (true) {
      const int64_t lo = certain_int(n->a, 0, "a loop"), extent = certain_int(n->b, 0, "a loop");
      std::vector<Thread> more;
      for (const Thread& t : threads)
        for (int64_t i = 0; i < extent; ++i) {
          more.push_back({t.number * extent + i, t.vars, {}});
          more.back().vars[static_cast<size_t>(n->slot)] = lo + i;
        }
      threads = std::move(more);
      body = program_.lists[n->first];
      n = &program_.stmts[body];
      if (n->kind != StmtKind::kFor || n->loop != LoopKind::kThread) break;
    }
    ++threads_open_;
    exec_together(body, threads);
    --threads_open_;
    here_.thread = 0;
    ++here_.epoch;
  }

  void become(Thread& t) {
    std::swap(vars_, t.vars);
    for (auto& [slot, storage] : t.own) std::swap(storage_[slot], storage);
    here_.thread = t.number;
  }
  // Runs `f` as each of the threads in turn.
  template <class F>
  void as_each(std::vector<Thread>& threads, const F& f) {
    for (Thread& t : threads) {
      become(t);
      f(t);
      become(t);
    }
  }
  // A number that all threads must agree on, because a barrier depends on it.
  int64_t common_int(int32_t expr, std::vector<Thread>& threads, std::string_view what) {
    std::optional<int64_t> common;
    as_each(threads, [&](Thread&) {
      const int64_t v = certain_int(expr, 0, what);
      HONE_USER_CHECK(!common || *common == v)
          << "function '" << function_.name << "': not every thread meets a barrier: it depends on " << what
          << " that differs between threads";
      common = v;
    });
    return common.value_or(0);
  }

  void exec_together(int32_t index, std::vector<Thread>& threads) {
    const SNode& n = program_.stmts[index];
    if (!n.has_barrier) return as_each(threads, [&](Thread&) { exec(index); });
    switch (n.kind) {
      case StmtKind::kFor: {
        HONE_USER_CHECK(n.loop == LoopKind::kSerial || n.loop == LoopKind::kUnroll)
            << "function '" << function_.name << "': a barrier stands in a " << name_of(n.loop)
            << " loop inside thread loops";
        const int64_t lo = common_int(n.a, threads, "a loop"), extent = common_int(n.b, threads, "a loop");
        for (int64_t i = 0; i < extent; ++i) {
          for (Thread& t : threads) t.vars[static_cast<size_t>(n.slot)] = lo + i;
          exec_together(program_.lists[n.first], threads);
        }
        return;
      }
      case StmtKind::kSeq:
        for (int32_t i = 0; i < n.count; ++i) exec_together(program_.lists[n.first + i], threads);
        return;
      case StmtKind::kIf: {
        const bool taken = common_int(n.a, threads, "a condition") != 0;
        if (taken || n.count > 1) exec_together(program_.lists[n.first + (taken ? 0 : 1)], threads);
        return;
      }
      case StmtKind::kAllocate:
        as_each(threads, [&](Thread& t) {
          const Storage& outer = storage_[n.slot];
          t.own.emplace_back(n.slot,
                             Storage{nullptr, outer.name, outer.dtype, outer.shape, 0, outer.tracked, 0, {}, {}, {}});
          std::swap(storage_[n.slot], t.own.back().second);
          begin_life(n);
        });
        exec_together(program_.lists[n.first], threads);
        for (Thread& t : threads) t.own.pop_back();
        return;
      case StmtKind::kBarrier: ++here_.epoch; return;
      case StmtKind::kStore:
      case StmtKind::kPrefetch: return;
    }
  }

  void write(Storage& b, int64_t element, const std::byte* from, int64_t bytes, bool is_poison) {
    if (in_launch() && !b.races.empty())
      if (const auto other = b.races.write(element, here_)) raced(b, element, *other, "writes");
    std::memcpy(b.data + element * bytes, from, static_cast<size_t>(bytes));
    if (b.tracked) b.stamps[element] = is_poison ? 0 : b.stamp;
  }

  // The bytes of one lane of a stored value.
  void value_bytes(int32_t value, DType t, int lane, std::byte* to) {
    if (!t.is_float()) {
      return put_int(eval_int(value, lane), t.lane_bytes(), to);
    }
    if (t.bits == 16) {
      const uint16_t v = program_.exprs[value].narrow(eval_float<float>(value, lane));
      std::memcpy(to, &v, 2);
    } else if (t.bits == 32) {
      const float v = eval_float<float>(value, lane);
      std::memcpy(to, &v, 4);
    } else {
      const double v = eval_float<double>(value, lane);
      std::memcpy(to, &v, 8);
    }
  }

  void store(const SNode& n) {
    Storage& b = storage_[n.slot];
    const int64_t bytes = b.dtype.lane_bytes();
    // All lanes are read before the first is written.
    struct Lane {
      int64_t element, bits;
      bool is_poison;
    };
    Lane one;
    std::vector<Lane> many;
    lanes_ = n.c;
    for (int lane = 0; lane < n.c; ++lane) {
      one.bits = 0;
      if (n.b >= 0 && !certain_int(n.b, lane, "a mask")) {
        if (n.c > 1) beside([&] { value_bytes(n.a, b.dtype, lane, reinterpret_cast<std::byte*>(&one.bits)); });
        continue;
      }
      one.element = element(b, n.first, n.count, lane);
      poison_ = nullptr;
      value_bytes(n.a, b.dtype, lane, reinterpret_cast<std::byte*>(&one.bits));
      one.is_poison = poison_ != nullptr;
      if (poison_ && !program_.buffers[static_cast<size_t>(n.slot)].tracked)
        poisoned(fmt::format("parameter '{}'", b.name));
      poison_ = nullptr;
      if (n.c == 1) return write(b, one.element, reinterpret_cast<const std::byte*>(&one.bits), bytes, one.is_poison);
      many.push_back(one);
    }
    for (const Lane& l : many) write(b, l.element, reinterpret_cast<const std::byte*>(&l.bits), bytes, l.is_poison);
  }

  void begin_life(const SNode& n) {
    Storage& b = storage_[n.slot];
    set_shape(n.slot);
    HONE_USER_CHECK(b.size <= (int64_t{1} << 30)) << "function '" << function_.name << "': buffer '" << b.name
                                                  << "' of " << b.size << " elements is too large to interpret";
    const auto size = static_cast<size_t>(b.size);
    if (b.stamps.size() < size || b.stamp == std::numeric_limits<uint32_t>::max()) {
      b.stamps.assign(std::max(size, b.stamps.size()), 0);
      b.memory.resize(b.stamps.size() * static_cast<size_t>(b.dtype.lane_bytes()));
      b.data = b.memory.data();
      b.stamp = 0;
    }
    ++b.stamp;
    if (program_.for_gpu && threads_open_ == 0) b.races.reset(b.size);  // any other buffer is private to a thread
  }

  void exec(int32_t index) {
    const SNode& n = program_.stmts[index];
    switch (n.kind) {
      case StmtKind::kFor: {
        const int64_t lo = certain_int(n.a, 0, "a loop"), extent = certain_int(n.b, 0, "a loop");
        const int32_t body = program_.lists[n.first];
        const int64_t outer = vars_[n.slot];
        if (n.loop == LoopKind::kBlock) {
          run_blocks(n, lo, extent);
        } else if (n.loop == LoopKind::kThread) {
          run_threads(n, lo, extent);
        } else {
          for (int64_t i = 0; i < extent; ++i) {
            vars_[n.slot] = lo + i;
            exec(body);
          }
        }
        vars_[n.slot] = outer;
        return;
      }
      case StmtKind::kStore: return store(n);
      case StmtKind::kSeq:
        for (int32_t i = 0; i < n.count; ++i) exec(program_.lists[n.first + i]);
        return;
      case StmtKind::kIf:
        if (certain_int(n.a, 0, "a condition"))
          exec(program_.lists[n.first]);
        else if (n.count > 1)
          exec(program_.lists[n.first + 1]);
        return;
      case StmtKind::kAllocate: begin_life(n); return exec(program_.lists[n.first]);
      case StmtKind::kPrefetch: return;
      case StmtKind::kBarrier:
        throw UserError(fmt::format("function '{}': a barrier stands outside of thread loops", function_.name));
    }
  }

  const Function& function_;
  const Unwritten unwritten_;
  const Program program_;
  std::vector<int64_t> vars_;
  std::vector<Storage> storage_;
  const Storage* poison_ = nullptr;  // set once the expression under evaluation has read an unwritten element
  int64_t poison_element_ = 0;
  bool is_beside_ = false;  // the value under evaluation is not used
  int lanes_ = 1;           // of the value that is stored
  Position here_;
  int blocks_open_ = 0, threads_open_ = 0;
};

}  // namespace

void interpret(const Function& f, const std::vector<InterpArg>& args, const std::vector<int64_t>& shape_args,
               Unwritten unwritten) {
  Runner(f, unwritten).run(args, shape_args);
}

void interpret(const Module& m, const std::vector<InterpArg>& args, Unwritten unwritten) {
  for (const Function& kernel : m.kernels) interpret(kernel, args, {}, unwritten);
}

}  // namespace hone
