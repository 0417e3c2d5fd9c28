#include "tests/unit/codegen/random_program.h"

#include <random>

#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Module program() {
    static constexpr DType kIn[] = {f32, f64, i32, i8, u8, i8, f32}, kOut[] = {f32, f64, i32, i32, i32, i8, f64};
    const size_t type = below(7);
    in_ = kIn[type];
    out_ = kOut[type];
    ni_ = 1 + below(5), nj_ = 1 + below(4), nv_ = 1 + below(below(3) == 0 ? 70 : 20);
    a_ = buffer("A", in_, 200), b_ = buffer("B", in_, 64);
    const int64_t cells = ni_ * nj_ * nv_;
    c_ = buffer("C", out_, cells * 2 + 4);
    parallel_ = below(3) == 0;
    Function f;
    f.name = "f";
    f.params = {a_, b_, c_};
    f.body = outer();
    return module_of(f, workspace_, /*workers=*/3);
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  static Buffer buffer(const char* name, DType t, int64_t n, BufferScope scope = BufferScope::kParam) {
    return make_buffer(name, t, std::vector<int64_t>{n}, scope);
  }
  LoopKind serial_or_unrolled() { return below(2) ? LoopKind::kSerial : LoopKind::kUnroll; }
  LoopKind inner_kind() { return below(4) ? LoopKind::kVectorize : serial_or_unrolled(); }

  // Everything is written first, so that guards may leave elements alone.
  Stmt outer() {
    const Var all("all"), i("i"), j("j");
    const int64_t size = *as_const_int(c_->shape[0]);
    Stmt clear = make_for(all, make_int(0), make_int(size), inner_kind_for_clear(),
                          make_store(c_, {Expr(all)}, cast(out_, make_int(3))));
    i_ = i, j_ = j;
    Stmt nest = make_for(j, make_int(0), make_int(nj_), serial_or_unrolled(), body());
    nest = make_for(i, make_int(0), make_int(ni_), parallel_ ? LoopKind::kParallel : serial_or_unrolled(), nest);
    return make_seq({clear, nest});
  }
  LoopKind inner_kind_for_clear() { return below(2) ? LoopKind::kVectorize : LoopKind::kSerial; }

  Stmt body() {
    // Anywhere: the address is no access.
    const Stmt hint =
        below(4) ? Stmt() : make_prefetch(below(2) ? a_ : c_, {Expr(i_) * (below(9) * 100000) + Expr(j_) - 3});
    return make_seq({hint, work()});
  }

  Stmt work() {
    switch (below(5)) {
      case 0: return reduction();
      case 1: return through_workspace();
      case 2: return carried();
      default: return elementwise();
    }
  }

  Expr cell() { return (Expr(i_) * nj_ + Expr(j_)) * nv_; }
  // A place of its own for each (i, j, v).
  Expr place(const Var& v) {
    switch (place_kind_) {
      case 0: return (cell() + Expr(v)) * 2 + 1;
      case 1: return Expr(v) * (ni_ * nj_) + Expr(i_) * nj_ + Expr(j_);
      case 2: return cell() + (make_int(nv_ - 1) - Expr(v));
      default: return cell() + Expr(v);
    }
  }

  Stmt elementwise() {
    place_kind_ = below(5);
    const Var v("v");
    Expr stored = value(v, 3);
    if (below(4) == 0) stored = select(guard(v), value(v, 1), std::move(stored));
    if (below(4) == 0) stored = select(lt(Expr(j_), 1 + below(3)), std::move(stored), value(v, 1));
    Stmt s = make_store(c_, {place(v)}, cast(out_, std::move(stored)));
    if (below(2)) s = make_if(guard(v), s, below(2) ? make_store(c_, {place(v)}, cast(out_, value(v, 1))) : Stmt());
    if (below(4) == 0) s = make_if(lt(Expr(i_), 1 + below(3)), s);
    const int64_t lo = below(3) == 0 ? 1 : 0;
    if (nv_ - lo <= 0) return make_seq({});
    return make_for(v, make_int(lo), make_int(nv_ - lo), inner_kind(), s);
  }

  Stmt reduction() {
    place_kind_ = below(5);
    const Buffer acc = buffer("acc", out_, nv_, BufferScope::kStack);
    const Var v0("v"), v1("v"), v2("v"), k("k");
    const Stmt clear =
        make_for(v0, make_int(0), make_int(nv_), inner_kind(), make_store(acc, {Expr(v0)}, cast(out_, make_int(0))));
    k_ = k;
    Stmt update = make_store(acc, {Expr(v1)}, load(acc, {Expr(v1)}) + cast(out_, value(v1, 2)));
    if (below(2)) update = make_if(guard(v1), update);
    const Stmt loop = make_for(k, make_int(0), make_int(1 + below(6)), serial_or_unrolled(),
                               make_for(v1, make_int(0), make_int(nv_), inner_kind(), update));
    k_ = Var();
    const Stmt write =
        make_for(v2, make_int(0), make_int(nv_), inner_kind(), make_store(c_, {place(v2)}, load(acc, {Expr(v2)})));
    return make_allocate(acc, -1, make_seq({clear, loop, write}));
  }

  Stmt through_workspace() {
    place_kind_ = below(5);
    const Buffer t = buffer("T", in_, nv_ + 5, BufferScope::kWorkspace);
    const int64_t offset = workspace_;
    workspace_ += 3 * ceil_div((nv_ + 5) * in_.lane_bytes(), 64) * 64;
    const Var v0("v"), v1("v");
    const Stmt fill = make_for(v0, make_int(0), make_int(nv_ + 5), inner_kind(),
                               make_store(t, {Expr(v0)}, load(a_, {Expr(v0) + Expr(i_)})));
    const Stmt use = make_for(v1, make_int(0), make_int(nv_), inner_kind(),
                              make_store(c_, {place(v1)}, cast(out_, load(t, {Expr(v1) + below(5)}))));
    return make_allocate(t, offset, make_seq({fill, use}));
  }

  // A value that travels from lane to lane, at a distance from 1 to 5.
  Stmt carried() {
    place_kind_ = below(5);
    const int64_t apart = 1 + below(5);
    const Buffer t = buffer("S", out_, nv_ + apart, BufferScope::kStack);
    const Var v0("v"), v1("v"), v2("v");
    const Stmt clear =
        make_for(v0, make_int(0), make_int(nv_ + apart), inner_kind(), make_store(t, {Expr(v0)}, cast(out_, Expr(v0))));
    const Stmt run = make_for(
        v1, make_int(0), make_int(nv_), inner_kind(),
        make_store(t, {Expr(v1) + apart}, load(t, {Expr(v1)}) + cast(out_, load(b_, {floor_mod(Expr(v1), 64)}))));
    const Stmt write = make_for(v2, make_int(0), make_int(nv_), inner_kind(),
                                make_store(c_, {place(v2)}, load(t, {Expr(v2) + apart})));
    return make_allocate(t, -1, make_seq({clear, run, write}));
  }

  Expr guard(const Var& v) {
    switch (below(8)) {
      case 0: return lt(Expr(v) + Expr(i_), 1 + below(nv_));
      // Those that fall between vectors of 4, 8 or 16, and next to there.
      case 6: return lt(Expr(i_) * 16 + Expr(v), 4 * below(16) + below(2));
      case 7: return le(make_int(4 * below(16) - below(2)), Expr(j_) * 8 + Expr(v));
      case 1: return le(make_int(below(nv_)), Expr(v));
      case 2: return logical_and(lt(make_int(0), Expr(v)), lt(Expr(v) * 2 + Expr(j_), nv_));
      case 3: return eq(floor_mod(Expr(v), 3), make_int(1));
      case 4: return logical_not(lt(Expr(v), 1 + below(nv_)));
      default: return logical_or(lt(Expr(v), 2), lt(Expr(i_), 1));
    }
  }

  Expr inner(const Var& v) { return k_ ? Expr(v) + Expr(k_) : Expr(v); }

  Expr operand(const Var& v) {
    switch (below(9)) {
      case 0: return load(a_, {inner(v) + below(100)});
      case 1: return load(b_, {Expr(i_) * 4 + Expr(j_)});
      case 2: return load(a_, {inner(v) * 2 + Expr(i_)});
      case 3: return load(a_, {make_int(100) - inner(v)});
      case 4: return load(b_, {floor_mod(Expr(v) * 7 + Expr(i_), 64)});
      case 5: return load(b_, {floor_div(Expr(v) - 3, 2) + 2});
      // Loads that are out of bounds on the side that is not chosen.
      case 6: return select(lt(Expr(v), 3), cast(in_, make_int(2)), load(a_, {Expr(v) - 3}));
      case 7: return select(lt(Expr(i_), 1), cast(in_, make_int(5)), load(a_, {(Expr(i_) - 1) * 40 + Expr(j_)}));
      default: return cast(in_, Expr(v) * 3 - Expr(j_));
    }
  }

  Expr value(const Var& v, int depth) {
    static constexpr Intrinsic kSmooth[] = {Intrinsic::kTanh, Intrinsic::kExp, Intrinsic::kErf};
    if (depth == 0) return operand(v);
    const Expr x = value(v, depth - 1), y = operand(v);
    switch (below(10)) {
      case 0: return x + y;
      case 1: return x - y;
      case 2: return x * y;
      case 3: return min(x, y);
      case 4: return max(x, y);
      case 5: return select(lt(operand(v), y), x, y + x);  // exact on both sides: contraction must not decide
      case 6:
        return in_.is_float() ? call(Intrinsic::kSqrt, {call(Intrinsic::kAbs, {x})})
                              : floor_div(x, cast(in_, make_int(3)));
      case 7:
        return in_.is_float() ? x / (call(Intrinsic::kAbs, {y}) + cast(in_, make_int(1)))
                              : floor_mod(x, cast(in_, make_int(5)));
      case 8:
        return in_.is_float() ? call(kSmooth[below(3)], {min(x, cast(in_, make_int(4)))}) : call(Intrinsic::kAbs, {x});
      default: return in_.is_float() ? call(Intrinsic::kFma, {x, y, y}) : cast(in_, cast(i16, x) + cast(i16, y));
    }
  }

  std::mt19937_64 random_;
  DType in_, out_;
  int64_t ni_ = 1, nj_ = 1, nv_ = 1, workspace_ = 0, place_kind_ = 0;
  bool parallel_ = false;
  Buffer a_, b_, c_;
  Var i_, j_, k_;
};

}  // namespace

Module random_program(uint64_t seed) { return Generator(seed).program(); }

}  // namespace hone
