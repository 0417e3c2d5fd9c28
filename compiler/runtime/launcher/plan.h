/* A program or model made ready to run: its steps' launches with their arguments, over the memory of a call. A program
   is a plan of one step. */
#ifndef HONE_LAUNCHER_PLAN_H
#define HONE_LAUNCHER_PLAN_H

#include "compiler/runtime/launcher/driver.h"
#include "compiler/runtime/launcher/shared.h"

/* Memory that a call may exchange: a tensor, or, behind the tensors, the workspace. */
typedef struct HoneSource {
  const HoneGpuParam* param; /* null: of the workspace */
  const HoneGpuCache* cache; /* that it is a part of; null: of none */
  int64_t bytes;             /* on the device */
  int32_t is_same_as;        /* its own number; of a cache's input that of the output */
  HoneMemory own;            /* the plan's, made when a call first needs it */
  HoneMemory given;          /* the caller's, of the last call; null: that one took `own` */
  void* native;              /* of `given`: what the caller gave */
  int32_t is_set;            /* the arguments are those of `own` or `given` */
  void* packed;              /* on the CPU, where the layout differs from the row-major one; made when needed */
  int64_t first_step;        /* that takes it, and the last one; both 0 where none does */
  int64_t last_step;
  int32_t is_late; /* the call copies it in front of its first step */
  char* staged;    /* pinned memory to which the call copies it behind its last step; null: behind all */
} HoneSource;

/* An argument of a step that lies in a source. */
typedef struct HoneSlot {
  int64_t step;
  int32_t argument, source;
  int64_t offset, bytes;
  int64_t is_same_as; /* the first slot with the same bytes of the same source, or its own number */
  HoneMemory part;    /* where the offset is not 0, of the first such slot: to be released */
} HoneSlot;

typedef struct HonePlanStep {
  void** launches; /* bound by the driver */
  int64_t launch_count;
  HoneMemory* arguments;
  int32_t argument_count;
  const HoneGpuHostFunction* host; /* null: none */
  const HoneGpuPlace* places;      /* of the host function's tensors and of a copy */
  void** on_host;                  /* the host function's tensors, then its workspace */
} HonePlanStep;

/* A run of the device's steps, recorded. */
typedef struct HoneRecording {
  void* recording;    /* null: not recorded */
  int64_t end;        /* of its steps */
  int32_t is_old;     /* it has the memory of an earlier call */
  int32_t is_refused; /* the driver did not record it */
} HoneRecording;

/* The commands of calls, recorded: of all calls that have the caller's memory for the same sources, or, where a driver
   does not rebind, of those that have the same memory. */
typedef struct HoneRecorded {
  void** natives;            /* by source; of the last call */
  int32_t calls;             /* that were made, up to 2; 0: the entry is free */
  HoneRecording* recordings; /* by the step that begins a run of the device's steps */
  int64_t last_used;
} HoneRecorded;

enum { kHoneMostRecorded = 4 };

typedef struct HonePlan {
  struct HonePlan* next;
  const HoneGpuProgram* head;
  const HoneGpuModel* model; /* null: a program */
  void* stream;              /* that it runs on */
  HoneSource* sources;       /* the tensors, then the workspace */
  int32_t source_count;
  HoneSlot* slots;
  int64_t slot_count;
  HonePlanStep* steps;
  int64_t step_count;
  HoneLoaded** loaded; /* by step; null: none */
  HoneWeights* weights;
  HoneMemory rows; /* how many rows caches have; null: there are no caches */
  uint8_t* cuts;   /* by step: the call copies something in front of it */
  HoneRecorded recorded[kHoneMostRecorded];
  int32_t rebinds; /* recordings take other memory; else they are made anew for it */
  int64_t calls;
} HonePlan;

/* A plan without memory for its tensors. HONE_GPU_FAILED where a program does not load. */
int32_t hone_internal_plan_new(HoneShared* shared, const HoneGpuProgram* head, void* stream, HonePlan** plan);
/* Nothing of it may run. Null does nothing. */
void hone_internal_plan_free(HoneShared* shared, HonePlan* plan);

/* Lets the arguments that lie in source number `s` be in the caller's memory `native`, or, where that is null, in the
   plan's own. */
int32_t hone_internal_set_source(HoneShared* shared, HonePlan* plan, int32_t s, void* native);
/* The source's memory, once it is set. */
HoneMemory hone_internal_memory_of(const HonePlan* plan, int32_t s);

/* Enqueues steps begin .. end-1, each after the one before; waits only for those on the host. */
int32_t hone_internal_run_steps(HoneShared* shared, HonePlan* plan, int64_t begin, int64_t end);
/* Called in front of step `step`, where the plan is cut. */
typedef struct HoneBetween {
  int32_t (*copy)(void* closure, int64_t step);
  void* closure;
} HoneBetween;

/* Enqueues all steps. The second call with the caller's memory for the same sources records the device's steps, which
   are replayed from then on, over the memory of each call. */
int32_t hone_internal_run_plan(HoneShared* shared, HonePlan* plan, const HoneBetween* between);

#endif
