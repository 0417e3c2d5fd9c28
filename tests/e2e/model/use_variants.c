/* A model with variants (m: three batches, each on two threads and on one) beside models of one batch each (b1, b2, b5,
   for two threads): through NAME_run, which chooses, in several threads at once, and in the child of a fork. Prints
   nothing where all is right. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "b1.h"
#include "b2.h"
#include "b5.h"
#include "m.h"

enum { kImage = 3 * 20 * 20, kClasses = 10, kFeatures = 16 * 9 * 9, kMostBatch = 5, kBatches = 3, kThreads = 4 };

static const int64_t kBatch[kBatches] = {1, 2, 5};
static HoneRuntime* pool;

/* The tensors of one call, and an arena that is large enough for every variant. */
typedef struct Call {
  float image[kMostBatch * kImage], classes[kMostBatch * kClasses], features[kMostBatch * kFeatures];
  int64_t shapes[3][4];
  DLTensor tensors[3];
  const DLTensor* args[3];
  void* arena;
} Call;

static void set_tensor(Call* c, int i, float* data, int ndim) {
  DLTensor* t = &c->tensors[i];
  memset(t, 0, sizeof *t);
  t->data = data;
  t->device.device_type = kDLCPU;
  t->dtype.code = kDLFloat;
  t->dtype.bits = 32;
  t->dtype.lanes = 1;
  t->ndim = ndim;
  t->shape = c->shapes[i];
  c->args[i] = t;
}

static Call* new_call(int64_t batch) {
  const int64_t shapes[3][4] = {{batch, 3, 20, 20}, {batch, 10, 0, 0}, {batch, 16, 9, 9}};
  Call* c = (Call*)calloc(1, sizeof *c);
  int i;
  memcpy(c->shapes, shapes, sizeof shapes);
  for (i = 0; i < kMostBatch * kImage; ++i) c->image[i] = (float)(i % 17) / 8 - 1;
  set_tensor(c, 0, c->image, 4);
  set_tensor(c, 1, c->classes, 2);
  set_tensor(c, 2, c->features, 4);
  if (posix_memalign(&c->arena, 64, M_ARENA_BYTES) != 0) exit(3);
  return c;
}

static void free_call(Call* c) {
  free(c->arena);
  free(c);
}

/* Whether the model with variants gives the outputs of the model for this batch alone. */
static int is_right(int which, const HoneRuntime* rt) {
  static int32_t (*const alone[kBatches])(const DLTensor* const*, int32_t, void*, const HoneRuntime*) = {b1_run, b2_run,
                                                                                                         b5_run};
  const size_t batch = (size_t)kBatch[which];
  Call *got = new_call(kBatch[which]), *wanted = new_call(kBatch[which]);
  const int ok = m_run(got->args, M_TENSORS, got->arena, rt) == HONE_OK &&
                 alone[which](wanted->args, B1_TENSORS, wanted->arena, rt) == HONE_OK &&
                 memcmp(got->classes, wanted->classes, batch * kClasses * sizeof(float)) == 0 &&
                 memcmp(got->features, wanted->features, batch * kFeatures * sizeof(float)) == 0;
  free_call(got);
  free_call(wanted);
  return ok;
}

static void* many(void* wrong) {
  int i;
  for (i = 0; i < 60; ++i)
    if (!is_right(i % kBatches, i % 2 ? pool : NULL)) ++*(int*)wrong;
  return NULL;
}

static void expect_words(const Call* c, const char* words) {
  const char* said = m_error(m_run(c->args, M_TENSORS, c->arena, NULL));
  if (strcmp(said, words) != 0) printf("'%s' instead of '%s'\n", said, words);
}

/* `no-fork`: without the child (emulators of one process do not fork beside threads). */
int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  int wrong[kThreads] = {0}, i, status = 1;
  pid_t child;
  Call* c = new_call(3);
  expect_words(c,
               "m: input 'image' has a shape that no variant has; there are float32 [1, 3, 20, 20], [2, 3, 20, 20], "
               "[5, 3, 20, 20]");
  c->shapes[0][0] = 2;
  expect_words(c,
               "m: output 'classes' has a shape that no variant has beside those of the tensors before it; there are "
               "float32 [1, 10], [2, 10], [5, 10]");
  c->args[0] = NULL;
  expect_words(c, "m: input 'image' is missing or has no data");
  if (!strstr(m_error(m_run(c->args, 2, c->arena, NULL)), "takes 3 tensors")) puts("two tensors were taken");
  if (!strstr(m_error(m_run(NULL, 3, c->arena, NULL)), "takes 3 tensors")) puts("no list of tensors was taken");
  free_call(c);
  if (m_artifact.variant_count != 2 * kBatches) puts("there are other variants");
  pool = m_pool(2);
  if (!pool) return puts("no pool"), 1;
  for (i = 0; i < kBatches; ++i)
    if (!is_right(i, NULL) || !is_right(i, pool)) printf("a batch of %d is wrong\n", (int)kBatch[i]);
  for (i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, &many, &wrong[i]) != 0) return puts("no threads"), 1;
  for (i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    if (wrong[i]) printf("thread %d: %d wrong\n", i, wrong[i]);
  }
  child = argc > 1 && strcmp(argv[1], "no-fork") == 0 ? 0 : fork();
  if (child == 0 && argc > 1) return 0;
  if (child == 0) _exit(is_right(0, pool) && is_right(2, NULL) ? 0 : 2);
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) printf("the child of a fork: %d\n", status);
  m_pool_free(pool);
  return 0;
}
