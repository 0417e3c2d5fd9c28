#include "compiler/runtime/entry/entry.h"

/* The model whose weights the program needs; null: it is no model's, or one of before there were files of weights. */
static const HoneGpuModel* hone_gpu_model_of(const HoneGpuProgram* program) {
  if (program->abi_version == HONE_GPU_PART_ABI) program = &((const HoneGpuPart*)program)->whole->head;
  return program->abi_version == HONE_GPU_MODEL_ABI ? (const HoneGpuModel*)program : 0;
}

/* HONE_OK where the program can be handed to the runtime's GPU. */
static int32_t hone_gpu_check(const HoneGpuProgram* program, const HoneRuntime* rt) {
  const HoneGpuModel* const model = hone_gpu_model_of(program);
  if (!rt || rt->abi_version != HONE_RUNTIME_ABI || !rt->gpu) return HONE_BAD_ARGUMENTS;
  if (model && model->mapped_weights && !__atomic_load_n(model->mapped_weights, __ATOMIC_ACQUIRE))
    return HONE_BAD_ARGUMENTS | HONE_NO_WEIGHTS << 8;
  return HONE_OK;
}

__attribute__((weak)) int32_t hone_entry1_gpu(const HoneGpuProgram* program, const DLTensor* const* args, int32_t n,
                                              void* workspace, const HoneRuntime* rt) {
  const int32_t code = hone_gpu_check(program, rt);
  if (code) return code;
  return rt->gpu->run ? rt->gpu->run(rt->gpu->self, program, args, n, workspace) : HONE_BAD_ARGUMENTS;
}

__attribute__((weak)) int32_t hone_entry1_gpu_plain(const HoneGpuProgram* program, const DLTensor* const* args,
                                                    int32_t n, void* workspace, const HoneRuntime* rt) {
  const int32_t code = hone_gpu_check(program, rt);
  (void)workspace;
  if (code) return code;
  return rt->gpu->run_plain ? rt->gpu->run_plain(rt->gpu->self, program, args, n, rt) : HONE_BAD_ARGUMENTS;
}
