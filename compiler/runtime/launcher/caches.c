#include "compiler/runtime/launcher/caches.h"

#include "compiler/runtime/launcher/tensors.h"

/* The first version of HoneGpuModel that has more than its steps. */
enum { kModelWithCaches = 1003 };

#define say hone_internal_say

const HoneGpuModel* hone_internal_model_of(const HoneGpuProgram* head) {
  const int is_model = head->abi_version >= HONE_GPU_MODEL_ABI_OLDEST && head->abi_version <= HONE_GPU_MODEL_ABI;
  return is_model ? (const HoneGpuModel*)head : NULL;
}

int hone_internal_has_newest(const HoneGpuModel* model) { return model->head.abi_version >= kModelWithCaches; }

int64_t hone_internal_cache_count(const HoneGpuModel* model) {
  return hone_internal_has_newest(model) ? model->cache_count : 0;
}

const HoneGpuCache* hone_internal_cache_of(const HoneGpuModel* model, int64_t i) {
  const int64_t count = hone_internal_cache_count(model);
  for (int64_t c = 0; c < count; ++c)
    if (model->caches[c].input == i || model->caches[c].output == i) return &model->caches[c];
  return NULL;
}

int64_t hone_internal_cache_bytes(const HoneGpuCache* c) { return c->matrices * c->room * c->row_bytes; }

/* Whether `t` has `rows` rows of the cache, and all of its matrices and elements. */
static int has_shape(const HoneGpuCache* c, int64_t element, const DLTensor* t, int64_t rows) {
  if (t->ndim <= c->axis || !t->shape || t->shape[c->axis] != rows) return 0;
  int64_t matrices = 1, row_bytes = element;
  for (int32_t d = 0; d < t->ndim; ++d) {
    int64_t* const product = d < c->axis ? &matrices : &row_bytes;
    const int64_t most = d < c->axis ? c->matrices : c->row_bytes;
    if (d == c->axis) continue;
    /* No product of extents goes beyond what it should be. */
    if (t->shape[d] < 0 || t->shape[d] > most) return 0;
    *product *= t->shape[d];
    if (*product > most) return 0;
  }
  return matrices == c->matrices && row_bytes == c->row_bytes;
}

/* Whether its elements lie as those of a buffer of all rows do. Without strides they are said to follow each other. */
static int has_strides(const HoneGpuCache* c, const DLTensor* t) {
  if (!t->strides) return c->matrices == 1;
  int64_t stride = 1;
  for (int32_t d = t->ndim; d-- > 0;) {
    /* The stride of a dimension of one element says nothing. */
    if (t->shape[d] > 1 && t->strides[d] != stride) return 0;
    stride *= d == c->axis ? c->room : t->shape[d];
  }
  return 1;
}

static int32_t check_part(const HoneDriver* driver, const HoneGpuModel* model, const HoneGpuCache* c, const DLTensor* t,
                          int is_output, int64_t rows, int cpu_too, HoneWords* words) {
  const HoneGpuParam* const p = &model->head.params[is_output ? c->output : c->input];
  const int64_t there = rows + (is_output ? 1 : 0);
  if (!t || (!t->data && there > 0)) return say(words, HONE_BAD_ARGUMENTS, "cache '%s' has no data", p->name);
  if (hone_internal_is_on_other(driver, t))
    return say(words, HONE_BAD_ARGUMENTS, "cache '%s' is on %s:%d, and the call runs on %s:%d", p->name, driver->api,
               (int)t->device.device_id, driver->api, (int)driver->device_id);
  if (!hone_internal_is_on_device(driver, t) && !(cpu_too && hone_internal_is_on_cpu(t)))
    return say(words, HONE_BAD_ARGUMENTS, "cache '%s' is on a device of type %d, not %d%s", p->name,
               (int)t->device.device_type, (int)driver->device_type, cpu_too ? " nor the CPU" : "");
  const int32_t code = hone_internal_check_type(p, t, words);
  if (code != HONE_OK) return code;
  if (!has_shape(c, hone_internal_element_bytes(p), t, there))
    return say(words, HONE_BAD_ARGUMENTS,
               "cache '%s' has another shape than %lld matrices of %lld rows of %lld bytes along dimension %d", p->name,
               (long long)c->matrices, (long long)there, (long long)c->row_bytes, (int)c->axis);
  if (!has_strides(c, t))
    return say(words, HONE_BAD_ARGUMENTS, "cache '%s' has other strides than a buffer of %lld rows", p->name,
               (long long)c->room);
  return HONE_OK;
}

int32_t hone_internal_rows_of(const HoneDriver* driver, const HoneGpuModel* model, const DLTensor* const* args,
                              int cpu_too, int64_t* rows, HoneWords* words) {
  const int64_t count = hone_internal_cache_count(model);
  *rows = 0;
  if (count == 0) return HONE_OK;
  const HoneGpuCache* const caches = model->caches;
  const DLTensor* const first = args[caches[0].input];
  const char* const name = model->head.params[caches[0].input].name;
  if (!first || !first->shape || first->ndim <= caches[0].axis)
    return say(words, HONE_BAD_ARGUMENTS, "cache '%s' has no dimension %d, that of rows", name, (int)caches[0].axis);
  *rows = first->shape[caches[0].axis];
  if (*rows < 0 || *rows >= caches[0].room)
    return say(words, HONE_BAD_ARGUMENTS, "cache '%s' has %lld rows; there may be 0 to %lld", name, (long long)*rows,
               (long long)caches[0].room - 1);
  for (int64_t i = 0; i < count; ++i) {
    const HoneGpuCache* const c = &caches[i];
    const DLTensor *const input = args[c->input], *const output = args[c->output];
    int32_t code = check_part(driver, model, c, input, 0, *rows, cpu_too, words);
    if (code == HONE_OK) code = check_part(driver, model, c, output, 1, *rows, cpu_too, words);
    if (code != HONE_OK) return code;
    if (*rows > 0 && (hone_internal_data(input) != hone_internal_data(output) ||
                      input->device.device_type != output->device.device_type))
      return say(words, HONE_BAD_ARGUMENTS, "cache '%s' lies elsewhere than '%s', whose rows it has",
                 model->head.params[c->output].name, model->head.params[c->input].name);
  }
  return HONE_OK;
}
