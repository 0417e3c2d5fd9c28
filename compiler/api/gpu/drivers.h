/* The drivers of all kinds of GPUs, by dlopen. */
#ifndef HONE_GPU_DRIVERS_H
#define HONE_GPU_DRIVERS_H

#include "compiler/api/hone_gpu.h"
#include "compiler/runtime/launcher/driver.h"

/* A device that is open. */
typedef struct HoneOpened {
  HoneDriver driver;
  HoneGpuProperties properties; /* but for the name and the number */
  void* context;                /* CUcontext, cl_context */
  /* HONE_BAD_ARGUMENTS where calls cannot run on the stream: it is of another context. */
  int32_t (*check_stream)(void* self, void* stream, HoneWords* words);
  void (*close)(void* self);
  double* limit; /* seconds that a wait may take; 0: any number. The driver's own variable */
} HoneOpened;

/* One kind of drivers. */
typedef struct HoneApi {
  const char* name;
  int32_t device_type;
  /* Opens device number `index`, of those that can be used, in the order in which they are numbered; -1: the first. Its
     number comes back in `opened`. HONE_NO_GPU: the words say what is missing, or which devices there are. */
  int32_t (*open)(int32_t index, HoneOpened* opened, HoneWords* words);
  int32_t (*open_in)(void* context, void* device, HoneOpened* opened, HoneWords* words);
} HoneApi;

/* All kinds, in the order in which "auto" looks for them. Each has a file that defines hone_internal_NAME_api. */
#define HONE_APIS(OF) OF(cuda) OF(opencl)

#define HONE_API_DECLARED(name) extern const HoneApi hone_internal_##name##_api;
HONE_APIS(HONE_API_DECLARED)
#undef HONE_API_DECLARED

enum { kHoneDefaultLimit = 60 };

/* Whether `seconds` have passed since `*begin`; a `*begin` of 0 begins now. Gives the processor away: at once for the
   first millisecond, then for 50 us. For who asks a driver again and again whether it is done. */
int hone_internal_is_over(double* begin, double seconds);

/* dlopen() of the first of `names` (up to a null) that there is, else null and the loader's words about each. */
void* hone_internal_open_library(const char* const* names, char* words, size_t room);

#endif
