// Statements of the tensor IR: immutable, reference-counted nodes.
#pragma once

#include "compiler/ir/expr.h"

namespace hone {

enum class StmtKind : uint8_t { kFor, kStore, kSeq, kIf, kAllocate, kPrefetch, kBarrier };

/// How the iterations of a loop run. A vector or unrolled loop has a constant extent. Iterations of a parallel loop may
/// run at the same time, in any order, each by one worker. On a GPU, iterations of block loops are blocks, which may
/// run at the same time in any order, and those of thread loops are the threads of a block: statements behind a thread
/// loop begin when all of its iterations have ended.
///
/// A warp loop (kWarp; programs print `tensor`) has the meaning of a serial one: each thread computes its own result.
/// It may also be executed by all threads of a warp together, and the body alone decides how
/// (codegen/gpu/tensor_nest.h): a nest of three that adds products runs on tensor cores, a single loop that combines
/// the warp's values in shared memory runs by shuffles, any other runs as a plain loop.
enum class LoopKind : uint8_t { kSerial, kUnroll, kVectorize, kParallel, kBlock, kThread, kWarp };
inline constexpr int kLoopKindCount = 7;
/// True when different iterations may run at the same time: parallel, block and thread loops.
inline bool is_concurrent(LoopKind kind) {
  return kind == LoopKind::kParallel || kind == LoopKind::kBlock || kind == LoopKind::kThread;
}

struct StmtNode;
/// A statement; null by default. Copying shares the node.
using Stmt = Ref<const StmtNode>;

struct StmtNode : RefCounted, Pooled {
  const StmtKind kind;
  virtual ~StmtNode() = default;

 protected:
  explicit StmtNode(StmtKind k) : kind(k) {}
};

template <StmtKind K>
struct StmtNodeOf : StmtNode {
  static constexpr StmtKind kKind = K;

 protected:
  StmtNodeOf() : StmtNode(K) {}
};

template <class T>
const T* as(const Stmt& s) {
  return s && s->kind == T::kKind ? static_cast<const T*>(s.get()) : nullptr;
}

/// Runs `body` for var = min .. min+extent-1.
struct For final : StmtNodeOf<StmtKind::kFor> {
  const Var var;
  const Expr min, extent;
  const LoopKind loop;
  const Stmt body;
  For(Var v, Expr lo, Expr n, LoopKind l, Stmt b)
      : var(std::move(v)), min(std::move(lo)), extent(std::move(n)), loop(l), body(std::move(b)) {}
};

/// buffer[indices] = value. In loop form with one flat index; with a Ramp index the value is a vector. `mask` is null
/// (always) or a bool of as many lanes: lanes where it is false store nothing, and their loads inside `value` are not
/// performed.
struct Store final : StmtNodeOf<StmtKind::kStore> {
  const Buffer buffer;
  const std::vector<Expr> indices;
  const Expr value, mask;
  Store(Buffer b, std::vector<Expr> i, Expr v, Expr m = nullptr)
      : buffer(std::move(b)), indices(std::move(i)), value(std::move(v)), mask(std::move(m)) {}
};

/// Any number of statements in order; never nested directly (make_seq flattens).
struct Seq final : StmtNodeOf<StmtKind::kSeq> {
  const std::vector<Stmt> stmts;
  explicit Seq(std::vector<Stmt> s) : stmts(std::move(s)) {}
};

struct If final : StmtNodeOf<StmtKind::kIf> {
  const Expr condition;
  const Stmt then_case, else_case;  ///< else_case may be null
  If(Expr c, Stmt t, Stmt e = nullptr) : condition(std::move(c)), then_case(std::move(t)), else_case(std::move(e)) {}
};

/// `buffer` exists inside `body`. A stack buffer lives in the frame. A workspace buffer lies `offset` bytes into the
/// module's workspace (64-byte aligned; assigned by plan_storage, -1 before); inside a parallel loop there is one for
/// each worker, the worker-th at offset + worker * (its size rounded up to 64 bytes). Contents are undefined at first.
struct Allocate final : StmtNodeOf<StmtKind::kAllocate> {
  const Buffer buffer;
  const int64_t offset;
  const Stmt body;
  Allocate(Buffer b, int64_t o, Stmt s) : buffer(std::move(b)), offset(o), body(std::move(s)) {}
};

/// A hint that buffer[indices] will be read soon. It is no access: the element may lie outside the buffer, nothing is
/// read, no meaning changes.
struct Prefetch final : StmtNodeOf<StmtKind::kPrefetch> {
  const Buffer buffer;
  const std::vector<Expr> indices;  ///< scalars
  Prefetch(Buffer b, std::vector<Expr> i) : buffer(std::move(b)), indices(std::move(i)) {}
};

/// A barrier: no thread of a block goes on before all have come here, and then each sees the others' stores. Inside
/// thread loops only, where every thread of the block meets it. Not part of loop form: codegen inserts it where the end
/// of a thread loop must be waited for.
struct Barrier final : StmtNodeOf<StmtKind::kBarrier> {};

inline Stmt make_for(Var v, Expr lo, Expr n, LoopKind l, Stmt b) {
  return Stmt(new For(std::move(v), std::move(lo), std::move(n), l, std::move(b)));
}
inline Stmt make_store(Buffer b, std::vector<Expr> i, Expr v, Expr mask = nullptr) {
  return Stmt(new Store(std::move(b), std::move(i), std::move(v), std::move(mask)));
}
/// Flattens nested sequences and drops nulls; one statement stays itself; none gives an empty Seq.
Stmt make_seq(std::vector<Stmt> stmts);
/// A constant condition gives the case it selects (an empty Seq when that is missing).
Stmt make_if(Expr condition, Stmt then_case, Stmt else_case = nullptr);
inline Stmt make_allocate(Buffer b, int64_t offset, Stmt body) {
  return Stmt(new Allocate(std::move(b), offset, std::move(body)));
}

inline Stmt make_barrier() { return Stmt(new Barrier); }
inline Stmt make_prefetch(Buffer b, std::vector<Expr> i) { return Stmt(new Prefetch(std::move(b), std::move(i))); }

std::string_view name_of(LoopKind kind);

}  // namespace hone
