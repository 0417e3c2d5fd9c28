#include "compiler/host/local_kernel.h"

#include <cstring>

#include "compiler/codegen/llvm/compile.h"
#include "compiler/host/load_objects.h"
#include "compiler/ir/dlpack_type.h"

namespace hone {
// Workers stay on one CPU each: a scheduler that wakes a worker beside its caller halves a short kernel's speed until
// it balances.
LocalKernel::LocalKernel(const Module& m, const Target& target, const std::vector<const void*>& checked_accesses,
                         Denormals denormals, TileCode tile_code)
    : module_(m),
      workspace_(m.workspace_bytes),
      pool_({.workers = target.threads, .cpus = allowed_cpus()}),
      artifact_(std::make_unique<Artifact>(load_objects({emit_object(
          m, target, {.checked_accesses = checked_accesses, .denormals = denormals, .tile_code = tile_code})}))) {
  if (const auto cpus = allowed_cpus(); !cpus.empty()) first_cpu_ = cpus[0];
  for (const KernelArgument& a : kernel_arguments(m)) {
    if (a.param == first_argument_.size()) first_argument_.push_back(tensors_.size());
    tensors_.emplace_back(dlpack_type(a.dtype), a.shape);
    std::memset(tensors_.back().data(), 0, static_cast<size_t>(tensors_.back().bytes()));
  }
  for (const HostTensor& t : tensors_) views_.push_back(t.view());
}

LocalKernel::~LocalKernel() = default;

void LocalKernel::set_input(size_t i, const void* logical) {
  const Param& p = module_.params[i];
  if (const Prepack* prepack = prepack_of(module_, i)) {
    HostTensor plain(dlpack_type(p.dtype), p.shape);
    std::memcpy(plain.data(), logical, static_cast<size_t>(plain.bytes()));
    std::vector<const DLTensor*> args{plain.view()};
    for (size_t k = 1; k < prepack->function.params.size(); ++k) args.push_back(views_[first_argument_[i] + k - 1]);
    const HoneEntry entry = artifact_->prepack(static_cast<int>(prepack - module_.prepacks.data()));
    const int32_t code = entry(args.data(), static_cast<int32_t>(args.size()), nullptr, pool_.runtime());
    HONE_USER_CHECK(code == HONE_OK) << "the prepack of '" << p.name << "' returned " << code;
    return;
  }
  pack(logical, physical(i).data(), p.shape, p.layout, p.dtype.bytes());
}

std::vector<char> LocalKernel::get_output(size_t i) const {
  const Param& p = module_.params[i];
  std::vector<char> logical(static_cast<size_t>(element_count(p.shape) * p.dtype.bytes()));
  unpack(tensors_[first_argument_[i]].data(), logical.data(), p.shape, p.layout, p.dtype.bytes());
  return logical;
}

int32_t LocalKernel::run() {
  // Only while the kernel runs: threads that other libraries start later would inherit the affinity.
  const PinnedCaller here = pinned();
  return run_here();
}

int32_t LocalKernel::run_here() {
  return artifact_->entry()(views_.data(), static_cast<int32_t>(views_.size()), workspace_.data(), pool_.runtime());
}

}  // namespace hone
