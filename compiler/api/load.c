#define _GNU_SOURCE
#include "compiler/api/load.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* The loader knows files by the names they were asked for with, and artifacts with threads stay loaded: another file
   under the same path would be taken for the first one. It looks at the file behind a name that is new to it:
   "m.so" is "./m.so", then "././m.so", for each file that was there. */
typedef struct Loaded {
  struct Loaded* next;
  dev_t device;
  ino_t file;
  const char* path; /* behind `name` */
  char name[];
} Loaded;

static pthread_mutex_t s_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards s_loaded */
static Loaded* s_loaded;

/* `path` with `more` times "./" in front of the file's own name. */
static Loaded* new_loaded(const char* path, size_t more) {
  const size_t length = strlen(path), folder = (size_t)(strrchr(path, '/') + 1 - path);
  Loaded* const l = malloc(sizeof *l + 2 * (length + 1) + 2 * more);
  if (!l) return NULL;
  char* at = l->name;
  memcpy(at, path, folder);
  at += folder;
  for (size_t i = 0; i < more; ++i) {
    memcpy(at, "./", 2);
    at += 2;
  }
  memcpy(at, path + folder, length - folder + 1);
  at += length - folder + 1;
  memcpy(at, path, length + 1);
  l->path = at;
  return l;
}

static const char* name_of_file(const char* path) {
  struct stat now;
  if (stat(path, &now) != 0) return path;
  size_t others = 0;
  for (const Loaded* l = s_loaded; l; l = l->next) {
    if (strcmp(l->path, path) != 0) continue;
    /* A file that is loaded keeps its number. */
    if (l->device == now.st_dev && l->file == now.st_ino) return l->name;
    ++others;
  }
  Loaded* const l = new_loaded(path, others);
  if (!l) return path;
  l->device = now.st_dev;
  l->file = now.st_ino;
  l->next = s_loaded;
  s_loaded = l;
  return l->name;
}

void* hone_load(const char* path) {
  /* In the child of a fork() the mutex may be held for ever. */
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec += 2;
  const char* name = path;
  if (pthread_mutex_timedlock(&s_mutex, &soon) == 0) {
    name = name_of_file(path);
    pthread_mutex_unlock(&s_mutex);
  }
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
