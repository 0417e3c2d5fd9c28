#include "compiler/runtime/launcher/shared.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/launcher/caches.h"

#define say(...) hone_internal_say(&shared->words, __VA_ARGS__)

int32_t hone_internal_no_host_memory(HoneShared* shared) { return say(HONE_GPU_FAILED, "the host has no memory left"); }

int32_t hone_internal_check_device(HoneShared* shared, const HoneGpuProgram* program) {
  if (program->device_type == shared->driver.device_type) return HONE_OK;
  return say(HONE_BAD_ARGUMENTS, "a program for '%s' on '%s', a device of %s", program->target,
             shared->driver.device_name, shared->driver.api);
}

/* Text for "sm_90" runs there and on what came later. */
static int32_t check_arch(HoneShared* shared, const HoneGpuProgram* program) {
  const char *const here = shared->driver.arch, *const built = program->arch;
  if (strncmp(here, "sm_", 3) != 0 || !built || strncmp(built, "sm_", 3) != 0 || atoi(built + 3) <= atoi(here + 3))
    return HONE_OK;
  return say(HONE_BAD_ARGUMENTS,
             "a program for %s and later, and '%s' is an %s: build it with --target 'cuda -arch=%s'", built,
             shared->driver.device_name, here, here);
}

int32_t hone_internal_load(HoneShared* shared, const HoneGpuProgram* program, HoneLoaded** loaded) {
  const HoneDriver* const driver = &shared->driver;
  *loaded = NULL;
  for (HoneLoaded* l = shared->loaded; l; l = l->next)
    if (l->program == program) {
      ++l->users;
      *loaded = l;
      return HONE_OK;
    }
  if (program->abi_version != HONE_RUNTIME_ABI)
    return say(HONE_BAD_ARGUMENTS, "a program of ABI version %d; this runtime has %d", (int)program->abi_version,
               HONE_RUNTIME_ABI);
  int32_t code = hone_internal_check_device(shared, program);
  if (code == HONE_OK) code = check_arch(shared, program);
  if (code != HONE_OK) return code;
  HoneLoaded* const made = calloc(1, sizeof *made);
  if (!made) return hone_internal_no_host_memory(shared);
  const int takes_binary = program->binary && driver->arch[0] != '\0' && strcmp(driver->arch, program->arch) == 0;
  if (takes_binary)
    code = driver->load(driver->self, program->binary, program->binary_bytes, &made->loaded, &shared->words);
  /* A driver that is older than the compiler of the binary may yet compile the text. */
  if (!made->loaded)
    code = driver->load(driver->self, program->text, program->text_bytes, &made->loaded, &shared->words);
  if (code != HONE_OK) {
    free(made);
    return code;
  }
  made->program = program;
  made->users = 1;
  made->next = shared->loaded;
  shared->loaded = made;
  *loaded = made;
  return HONE_OK;
}

void hone_internal_unload(HoneShared* shared, HoneLoaded* loaded) {
  if (!loaded || --loaded->users > 0) return;
  HoneLoaded** at = &shared->loaded;
  while (*at != loaded) at = &(*at)->next;
  *at = loaded->next;
  shared->driver.unload(shared->driver.self, loaded->loaded);
  free(loaded);
}

int32_t hone_internal_weights_of(HoneShared* shared, const HoneGpuModel* model, HoneWeights** weights) {
  const HoneDriver* const driver = &shared->driver;
  *weights = NULL;
  if (model->weights_bytes == 0) return HONE_OK;
  const void* from = model->weights;
  if (hone_internal_has_newest(model) && model->mapped_weights)
    from = __atomic_load_n(model->mapped_weights, __ATOMIC_ACQUIRE);
  if (!from) return say(HONE_BAD_ARGUMENTS, "the file of the model's weights is not mapped: call NAME_weights");
  for (HoneWeights* w = shared->weights; w; w = w->next)
    if (w->weights == from) {
      ++w->users;
      *weights = w;
      return HONE_OK;
    }
  HoneWeights* const made = calloc(1, sizeof *made);
  if (!made) return hone_internal_no_host_memory(shared);
  int32_t code = driver->allocate(driver->self, model->weights_bytes, &made->memory, &shared->words);
  if (code == HONE_OK)
    code = driver->write(driver->self, made->memory, 0, from, model->weights_bytes, NULL, &shared->words);
  /* All streams read them. */
  if (code == HONE_OK) code = driver->wait(driver->self, NULL, &shared->words);
  if (code != HONE_OK) {
    if (made->memory) driver->deallocate(driver->self, made->memory);
    free(made);
    return code;
  }
  made->weights = from;
  made->users = 1;
  made->next = shared->weights;
  shared->weights = made;
  *weights = made;
  return HONE_OK;
}

void hone_internal_release_weights(HoneShared* shared, HoneWeights* weights) {
  if (!weights || --weights->users > 0) return;
  HoneWeights** at = &shared->weights;
  while (*at != weights) at = &(*at)->next;
  *at = weights->next;
  shared->driver.deallocate(shared->driver.self, weights->memory);
  free(weights);
}
