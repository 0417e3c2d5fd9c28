#include "tests/unit/codegen/programs.h"

#include "base/narrow_floats.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/link/link.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/ir/dlpack_type.h"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <stdexcept>

namespace hone {

std::vector<Target> targets_here() {
  const Target host = host_target(1);
  std::vector<Target> all = {host};
  if (host.arch != "x86_64") return all;
  if (host.vector_bits == 512) all.push_back(Target::parse("llvm -mtriple=x86_64-linux -mcpu=skylake-avx512"));
  if (host.vector_bits == 512) all.back().vector_bits = 256;
  if (host.vector_bits >= 256) all.push_back(Target::parse("llvm -mtriple=x86_64-linux -mcpu=haswell"));
  all.push_back(Target::parse("llvm -mtriple=x86_64-linux -mcpu=x86-64"));
  return all;
}

Module module_of(const Function& f, int64_t workspace_bytes, int workers) {
  Module m;
  m.kernels.push_back(f);
  for (size_t i = 0; i < f.params.size(); ++i) {
    Param p;
    p.name = f.params[i]->name;
    p.role = i + 1 == f.params.size() ? ParamRole::kOutput : ParamRole::kInput;
    p.dtype = f.params[i]->dtype;
    for (const Expr& e : f.params[i]->shape) p.shape.push_back(*as_const_int(e));
    p.layout = Layout::identity(p.shape);
    m.params.push_back(std::move(p));
  }
  m.workspace_bytes = workspace_bytes;
  m.workers = workers;
  return m;
}

CompiledModule::CompiledModule(const Module& m, const CodegenOptions& options, const Target& target)
    : CompiledModule({emit_object(m, target, options)}, options.name) {}

CompiledModule::CompiledModule(const std::vector<std::string>& objects, const std::string& name) {
  folder_ = "/tmp/hone-codegen-test-XXXXXX";
  if (!mkdtemp(folder_.data())) throw std::runtime_error("no temporary folder");
  path_ = folder_ + "/" + name + ".so";
  link_shared(objects, path_);
  StatusOr<Artifact> loaded = Artifact::load(path_, name);
  if (!loaded.ok()) throw std::runtime_error(message_of(loaded.status()));
  holder_.push_back(std::move(*loaded));
  artifact_ = &holder_[0];
}

CompiledModule::~CompiledModule() {
  unlink(path_.c_str());
  rmdir(folder_.c_str());
}

int32_t CompiledModule::run(const std::vector<HostTensor>& tensors, void* workspace, const HoneRuntime* rt) const {
  std::vector<const DLTensor*> args;
  for (const HostTensor& t : tensors) args.push_back(t.view());
  return entry()(args.data(), static_cast<int32_t>(args.size()), workspace, rt);
}

std::vector<HostTensor> tensors_of(const Function& f, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<HostTensor> out;
  for (const Buffer& b : f.params) {
    std::vector<int64_t> shape;
    for (const Expr& e : b->shape) shape.push_back(*as_const_int(e));
    out.emplace_back(dlpack_type(b->dtype), shape);
    const HostTensor& t = out.back();
    for (int64_t i = 0; i < t.size(); ++i) {
      const int64_t v = static_cast<int64_t>(random() % 17) - 8;
      switch (b->dtype.lane_bytes() * 10 + static_cast<int>(b->dtype.code)) {
        case 10: t.as<int8_t>()[i] = static_cast<int8_t>(v); break;
        case 11: t.as<uint8_t>()[i] = static_cast<uint8_t>(v + 8); break;
        case 13: t.as<uint8_t>()[i] = v > 0; break;
        case 24: t.as<uint16_t>()[i] = bf16_of_float(static_cast<float>(v)); break;
        case 41: t.as<uint32_t>()[i] = static_cast<uint32_t>(v + 8); break;
        case 40: t.as<int32_t>()[i] = static_cast<int32_t>(v); break;
        case 80: t.as<int64_t>()[i] = v; break;
        case 42: t.as<float>()[i] = static_cast<float>(v) / 8; break;
        case 82: t.as<double>()[i] = static_cast<double>(v) / 8; break;
        default: throw std::runtime_error("no values for " + to_string(b->dtype));
      }
    }
  }
  return out;
}

Function tiled_matmul(int64_t m, int64_t n, int64_t k, int64_t rows, int64_t columns, int64_t unroll, bool parallel) {
  const Buffer a = make_buffer("A", f32, std::vector<int64_t>{m * k}),
               b = make_buffer("B", f32, std::vector<int64_t>{k * n}),
               c = make_buffer("C", f32, std::vector<int64_t>{m * n});
  const Buffer acc = make_buffer("acc", f32, std::vector<int64_t>{rows * columns}, BufferScope::kStack);
  const Var io("io"), jo("jo"), ko("ko"), ku("ku"), i("i"), j("j"), i0("i"), j0("j"), i2("i"), j2("j");
  const auto tile = [&](const Var& x, const Var& y, Stmt body) {
    return make_for(x, make_int(0), make_int(rows), LoopKind::kUnroll,
                    make_for(y, make_int(0), make_int(columns), LoopKind::kVectorize, std::move(body)));
  };
  const Expr kk = Expr(ko) * unroll + Expr(ku);
  const Stmt clear = tile(i0, j0, make_store(acc, {Expr(i0) * columns + Expr(j0)}, make_float(0)));
  const Expr at = Expr(i) * columns + Expr(j);
  const Stmt update = tile(i, j,
                           make_store(acc, {at},
                                      load(acc, {at}) + load(a, {(Expr(io) * rows + Expr(i)) * k + kk}) *
                                                            load(b, {kk * n + Expr(jo) * columns + Expr(j)})));
  const Stmt reduce = make_for(ko, make_int(0), make_int(k / unroll), LoopKind::kSerial,
                               make_for(ku, make_int(0), make_int(unroll), LoopKind::kUnroll, update));
  const Stmt write = tile(i2, j2,
                          make_store(c, {(Expr(io) * rows + Expr(i2)) * n + Expr(jo) * columns + Expr(j2)},
                                     load(acc, {Expr(i2) * columns + Expr(j2)})));
  const Stmt body = make_allocate(acc, -1, make_seq({clear, reduce, write}));
  Function f;
  f.name = "matmul";
  f.params = {a, b, c};
  f.body = make_for(io, make_int(0), make_int(m / rows), parallel ? LoopKind::kParallel : LoopKind::kSerial,
                    make_for(jo, make_int(0), make_int(n / columns), LoopKind::kSerial, body));
  return f;
}

}  // namespace hone
