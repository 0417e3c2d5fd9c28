/* The copies of a call: its tensors on the CPU, there and back. */
#ifndef HONE_LAUNCHER_COPIES_H
#define HONE_LAUNCHER_COPIES_H

#include "compiler/runtime/launcher/launcher.h"
#include "compiler/runtime/launcher/plan.h"
#include "compiler/runtime/launcher/staging.h"

/* The plan of a call, its arguments and its mode. */
typedef struct HoneCall {
  HonePlan* plan;
  const DLTensor* const* args;
  const HoneRuntime* rt;
  const HoneCallMode* mode;
  int64_t rows;
} HoneCall;

typedef struct HoneCopies {
  HoneShared* shared;
  HoneStaging staging;
  void *to_device, *to_host;            /* streams beside the caller's; null: not made yet, or there are none */
  int32_t uses_to_device, uses_to_host; /* the call that runs has sent something there */
  int32_t has_no_streams;               /* the driver gives none */
} HoneCopies;

void hone_internal_copies_free(HoneCopies* copies);

/* Whether the call copies tensor number `i`. Memory that the host and the device share is not. */
int hone_internal_is_copied(const HoneCall* call, int64_t i);

/* Begins the copies of a call of a whole plan, or of a part of it, `what` being HONE_GPU_COPY_INPUTS,
   HONE_GPU_COPY_OUTPUTS or both: sends the inputs, but for those of a whole plan that are large and not needed at once.
   The plan is then cut where these are needed and where large outputs are ready. */
int32_t hone_internal_begin_copies(HoneCopies* copies, const HoneCall* call, int32_t what, int32_t is_whole);
/* The copies in front of step `step`, where the plan is cut: outputs that are ready, inputs that are needed. They run
   beside the steps that the caller's stream has. */
int32_t hone_internal_copy_between(HoneCopies* copies, const HoneCall* call, int64_t step);
/* Behind the last step: sends for the other outputs, and ties the copies to the call's stream. */
int32_t hone_internal_fetch_outputs(HoneCopies* copies, const HoneCall* call);
/* Once the call's stream is done: the outputs are the caller's. */
int32_t hone_internal_finish_copies(HoneCopies* copies, const HoneCall* call);
/* Waits for the copies of a call that failed. */
void hone_internal_abandon_copies(HoneCopies* copies);

#endif
