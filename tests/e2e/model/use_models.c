/* Two models in one program (m and n are the same network built twice), on the calling thread, on a pool, in several
   threads with an arena each, and in the child of a fork. Prints the classes; no other output means that all agree. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "m.h"
#include "n.h"

enum { kImage = 3 * 20 * 20, kClasses = 10, kFeatures = 16 * 9 * 9, kThreads = 4 };

static float image[kImage], classes[kClasses], features[kFeatures];
static HoneRuntime* pool;

static DLTensor tensor(float* data, const HoneTensorType* type) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.device.device_type = kDLCPU;
  t.dtype = type->dtype;
  t.ndim = type->ndim;
  t.shape = (int64_t*)type->shape;
  return t;
}

static void* arena_of(const HoneArtifact* a) {
  void* p = NULL;
  return posix_memalign(&p, 64, (size_t)a->variants[0].run_workspace_bytes + 1) == 0 ? p : NULL;
}

/* Whether the model's outputs are those of the first run. `shift` floats in front of each tensor make it aligned to its
   elements only. */
static int is_right(const HoneArtifact* a, const HoneRuntime* rt, int shift) {
  const HoneVariant* v = &a->variants[0];
  float* data = (float*)malloc(sizeof(float) * (kImage + kClasses + kFeatures + 64));
  float *in = data + shift, *c = in + kImage + shift, *f = c + kClasses + shift;
  void* arena = arena_of(a);
  DLTensor ti = tensor(in, &v->params[0].plain), tc = tensor(c, &v->params[1].plain),
           tf = tensor(f, &v->params[2].plain);
  const DLTensor* args[3];
  int ok;
  args[0] = &ti, args[1] = &tc, args[2] = &tf;
  memcpy(in, image, sizeof image);
  ok = arena && v->run(args, 3, arena, rt) == HONE_OK && memcmp(c, classes, sizeof classes) == 0 &&
       memcmp(f, features, sizeof features) == 0;
  free(arena);
  free(data);
  return ok;
}

static void* many(void* wrong) {
  int i;
  for (i = 0; i < 50; ++i)
    if (!is_right(i % 2 ? &m_artifact : &n_artifact, i % 3 ? pool : NULL, i % 4)) ++*(int*)wrong;
  return NULL;
}

/* `no-fork`: without the child (emulators of one process do not fork beside threads). */
int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  int wrong[kThreads] = {0}, i, status = 1;
  void* arena = arena_of(&m_artifact);
  DLTensor ti = tensor(image, &m_artifact.variants[0].params[0].plain),
           tc = tensor(classes, &m_artifact.variants[0].params[1].plain),
           tf = tensor(features, &m_artifact.variants[0].params[2].plain);
  const DLTensor* args[3];
  pid_t child;
  args[0] = &ti, args[1] = &tc, args[2] = &tf;
  for (i = 0; i < kImage; ++i) image[i] = (float)(i % 17) / 8 - 1;
#ifdef WEIGHTS /* in files of their own */
  if (!strstr(m_error(m_run(args, 3, arena, NULL)), "call m_weights(path) first")) puts("it ran without weights");
  if (!strstr(m_error(m_weights("missing.w")), "cannot be read")) puts("a missing file was mapped");
  if (!strstr(m_error(m_weights(argv[0])), "not the file of its weights")) puts("a program was taken for weights");
  if (m_weights("m.w") || n_weights(n_weights_file)) return puts("the weights were not mapped"), 1;
  if (m_weights("missing.w")) puts("weights were looked for once more");
#endif
  if (m_run(args, 3, arena, NULL) != HONE_OK) return puts("the first run failed"), 1;
  for (i = 0; i < kClasses; ++i) printf("%.6f\n", classes[i]);
  if (m_run(args, 2, arena, NULL) == HONE_OK || !strstr(m_error(m_run(args, 2, arena, NULL)), "takes 3 tensors"))
    puts("two tensors were taken");
  tc.ndim = 1;
  if (!strstr(m_error(m_run(args, 3, arena, NULL)), "'classes' has another shape")) puts("another rank was taken");
  pool = m_pool(3);
  if (!pool) return puts("no pool"), 1;
  for (i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, &many, &wrong[i]) != 0) return puts("no threads"), 1;
  for (i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    if (wrong[i]) printf("thread %d: %d wrong\n", i, wrong[i]);
  }
  child = argc > 1 && strcmp(argv[1], "no-fork") == 0 ? 0 : fork();
  if (child == 0 && argc > 1) return 0;
  if (child == 0) _exit(is_right(&m_artifact, pool, 0) && is_right(&n_artifact, pool, 1) ? 0 : 2);
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) printf("the child of a fork: %d\n", status);
  m_pool_free(pool);
  free(arena);
  return 0;
}
