#include "compiler/runtime/entry/entry.h"

#include <string.h>

static int32_t hone_check_wrong(int32_t what, int32_t tensor) { return HONE_BAD_ARGUMENTS | what << 8 | tensor << 16; }

/* Where the elements begin. */
static uintptr_t hone_check_first(const DLTensor* t) { return (uintptr_t)t->data + t->byte_offset; }

static int hone_check_has_elements(const int64_t* shape, int32_t ndim) {
  for (int32_t d = 0; d < ndim; ++d)
    if (shape[d] == 0) return 0;
  return 1;
}

static int hone_check_has_type(const DLTensor* t, const HoneTensorType* type) {
  uint32_t given, wanted; /* one comparison */
  memcpy(&given, &t->dtype, sizeof given);
  memcpy(&wanted, &type->dtype, sizeof wanted);
  return given == wanted;
}

/* Types have a power of two of bytes. */
static int hone_check_is_aligned(const DLTensor* t) {
  const uintptr_t bytes = ((uintptr_t)t->dtype.bits + 7) / 8;
  return (hone_check_first(t) & (bytes - 1)) == 0;
}

static int hone_check_is_on(const DLTensor* t, uint64_t devices) {
  const uint32_t device = (uint32_t)t->device.device_type;
  return device < 64 && (devices >> device & 1);
}

/* Whether the extent agrees with the symbol's value, which it says where that is not known yet. */
static int hone_check_symbol(int64_t extent, const HoneExtent* e, const HoneSymbol* symbols, int64_t* values) {
  const HoneSymbol* const symbol = &symbols[e->symbol];
  const int64_t value = (int64_t)((uint64_t)extent - (uint64_t)e->more);
  if (values[e->symbol] != HONE_UNKNOWN_VALUE) return value == values[e->symbol];
  if (value < symbol->least || value > symbol->most) return 0;
  if (symbol->multiple_of > 1 && value % symbol->multiple_of) return 0;
  values[e->symbol] = value;
  return 1;
}

static int hone_check_shape(const DLTensor* t, const HoneTensorType* type, const HoneTensorCheck* check,
                            const HoneSymbol* symbols, int64_t* values) {
  const HoneExtent* e = check->extents;
  const HoneExtent* const end = e + check->extent_count;
  for (int32_t d = 0; d < type->ndim; ++d) {
    if (e != end && e->dimension == d) {
      if (!hone_check_symbol(t->shape[d], e++, symbols, values)) return 0;
    } else if (t->shape[d] != type->shape[d]) {
      return 0;
    }
  }
  return 1;
}

/* Whether the strides are those of a row-major tensor, or of one with room for more. Null ones say that there are no
   gaps, as there are behind what has room. The stride of a dimension of one element says nothing. */
static int hone_check_strides(const DLTensor* t, const HoneTensorType* type, const HoneTensorCheck* check) {
  const HoneExtent* e = check->extents + check->extent_count;
  int64_t stride = 1;
  int has_gap = 0;
  for (int32_t d = type->ndim; d-- > 0;) {
    const int is_symbol = e != check->extents && e[-1].dimension == d;
    int64_t extent = t->shape[d];
    if (has_gap && !t->strides && extent != 1) return 0;
    if (t->strides && t->strides[d] != stride && (is_symbol ? extent > 1 : extent != 1)) return 0;
    e -= is_symbol;
    if (is_symbol && e->room > 0) {
      has_gap = 1;
      extent = e->room;
    }
    stride *= extent;
  }
  return 1;
}

static inline int32_t hone_check_tensor(const DLTensor* const* args, int32_t i, const HoneTensorType* type,
                                        const HoneTensorCheck* check, const HoneSymbol* symbols, int64_t* values) {
  const DLTensor* const t = args[i];
  const int is_fixed = check->extent_count == 0;
  if (!t || (!t->data && is_fixed && hone_check_has_elements(type->shape, type->ndim))) return HONE_WRONG_DATA;
  if (!hone_check_is_on(t, check->devices)) return HONE_WRONG_DEVICE;
  if (!hone_check_has_type(t, type)) return HONE_WRONG_DTYPE;
  if (t->ndim != type->ndim || (t->ndim > 0 && !t->shape)) return HONE_WRONG_SHAPE;
  if (!hone_check_shape(t, type, check, symbols, values)) return HONE_WRONG_SHAPE;
  if ((t->strides || !is_fixed) && !hone_check_strides(t, type, check)) return HONE_WRONG_STRIDES;
  if (is_fixed || hone_check_has_elements(t->shape, t->ndim)) {
    if (!t->data && !is_fixed) return HONE_WRONG_DATA;
    /* Memory of a device may have no address. */
    if (t->device.device_type == kDLCPU && !hone_check_is_aligned(t)) return HONE_WRONG_ALIGNMENT;
  }
  if (check->begins_with >= 0) {
    const DLTensor* const with = args[check->begins_with];
    if (!hone_check_has_elements(with->shape, with->ndim)) return HONE_OK;
    if (t->device.device_type != with->device.device_type) return HONE_WRONG_DEVICE;
    if (hone_check_first(t) != hone_check_first(with)) return HONE_WRONG_DATA;
  }
  return HONE_OK;
}

__attribute__((weak)) int32_t hone_entry1_check_tensor(const DLTensor* const* args, int32_t i,
                                                       const HoneTensorType* type, const HoneTensorCheck* check,
                                                       const HoneSymbol* symbols, int64_t* values) {
  return hone_check_tensor(args, i, type, check, symbols, values);
}

/* None runs everything on the calling thread, which a GPU's code cannot. */
static int hone_check_runtime(const HoneRuntime* rt, int is_for_gpu) {
  const int32_t oldest = is_for_gpu ? HONE_RUNTIME_ABI : HONE_RUNTIME_ABI_OLDEST;
  if (!rt) return !is_for_gpu;
  if (rt->abi_version < oldest || rt->abi_version > HONE_RUNTIME_ABI) return 0;
  return !is_for_gpu || (rt->gpu && rt->gpu->run_plain);
}

__attribute__((weak)) int32_t hone_entry1_run(const HoneRun* run, const DLTensor* const* args, int32_t n,
                                              void* workspace, const HoneRuntime* rt) {
  const HoneVariant* const v = run->variant;
  const HoneChecks* const checks = run->checks;
  int64_t values[HONE_MOST_SYMBOLS];
  if (n == HONE_ASK_LAYERS && run->layers && workspace) {
    *(const HoneLayers**)workspace = run->layers;
    return HONE_OK;
  }
  if (!hone_check_runtime(rt, v->gpu != 0)) return hone_check_wrong(HONE_WRONG_RUNTIME, 0);
  if (n != v->param_count || !args) return hone_check_wrong(HONE_WRONG_COUNT, 0);
  if ((v->run_workspace_bytes > 0 && !workspace) || (uintptr_t)workspace % 64)
    return hone_check_wrong(HONE_WRONG_WORKSPACE, 0);
  for (int32_t s = 0; s < checks->symbol_count; ++s) values[s] = HONE_UNKNOWN_VALUE;
  for (int32_t i = 0; i < n; ++i) {
    const int32_t what = hone_check_tensor(args, i, &v->params[i].plain, &checks->tensors[i], checks->symbols, values);
    if (what) return hone_check_wrong(what, i + 1);
  }
  return run->plain(args, n, workspace, rt);
}
