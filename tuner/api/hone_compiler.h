/* libhone: builds models and operators, tunes them and asks the tophub, as the programs tensorc, tuner and tophub do.
   It has hone.h, too: the same library opens and runs built artifacts. C11 and C++.

   Options are the programs' flags, each a word of its own: "--target=llvm", "--bind=batch=1"; `tensorc --help` and its
   like list them. An option may also be a JSON object of several by their names, with numbers and lists where flags
   have texts: {"bind": {"batch": [1, 4]}, "shapes": {"x": [1, 3, 48, 320]}, "threads": [1, 2], "assume_finite": true},
   and with "bind_data", "formats" (--input) and "cache" as {"NAME": ...}. Functions return HONE_OK or another code, and
   hone_last_error says what is wrong in words. Any number of threads may call at once. While a function runs, no other
   thread may change the environment (setenv). The child of a fork() may open and run artifacts, but not build or tune.
   Warnings go to stderr, unless $HONE_LOG is "error" or "off" or the process has a logger of spdlog's. hone_tune leaves
   some idle threads of gRPC's and their descriptors, once for the process. */
#ifndef HONE_COMPILER_H
#define HONE_COMPILER_H

#include <hone.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Codes beyond those of hone.h, what the programs' exit codes say. */
enum {
  HONE_BAD_INPUT = 32,    /* an option, a model or a workload: what, where, and what is allowed */
  HONE_NO_DEVICE = 33,    /* the target is fine, but no device serves it */
  HONE_ALL_FAILED = 34,   /* every candidate failed */
  HONE_BAD_DATABASE = 35, /* it could not be read or written */
  HONE_STOPPED = 36,      /* HoneCall.stops said so; what was measured is kept */
  HONE_INTERNAL = 37      /* a bug of Hone; the text says how to report it */
};

/* The version of these functions and structs. Programs that were compiled with an older version go on working: structs
   grow at their ends, and say how large they are. */
#define HONE_COMPILER_VERSION 1
HONE_API int32_t hone_compiler_version(void);
/* The library's own: "1.2.3". */
HONE_API const char* hone_version(void);

/* How far a call is. */
typedef struct HoneProgress {
  size_t size;            /* of this struct, as the library knows it */
  const char* what;       /* "compiling kernels", "measuring"; lives as long as the call of HoneCall.progress */
  uint64_t done, all;     /* kernels, trials */
  double best_gflops;     /* of tuning: of the best so far, of several workloads together; 0: there is none */
  double seconds;         /* of tuning several workloads: one run of all with their best; 0: not known */
  double default_seconds; /* and with their defaults */
  double seconds_left;    /* below 0: not known */
} HoneProgress;

/* Graph passes of the caller's: each makes a graph of a model's, between two passes of the library's. `list` is JSON,

     [{"name": "my_pass", "after": "fold_scales", "file": "my_passes.py"}, {"name": "other", "before": "my_pass"}]

   with names of letters, digits and _; the library's passes are those of `tensorc --help all` (-O), "import" is the
   reading of the model, and "file", which may be missing, is where a pass is written, for commands that are printed.
   `run` is given a pass's number in the list and a graph as text (`tensorc --emit graph`: compiler/graph/text.h), whose
   constants are `given N`, tensor number N beside it, in the CPU's memory, row-major, and readable until `run`
   returns; bools are bytes. It calls write(to, TEXT, MADE, COUNT) once and returns HONE_OK: TEXT is the new graph, in
   which `given` numbers from `count` on are the tensors MADE, row-major, too, bits of bf16 as uint16; they are copied.
   The graph's inputs and outputs stay, and nothing else does that nobody reads. Or it returns HONE_STOPPED, which ends
   the call, or another code, having written one line that says what is wrong. It is called for each variant of a model,
   and while a model is tuned several times; it must not throw. Every graph is checked as those of the library's own
   passes are. */
typedef struct HoneGraphPasses {
  size_t size; /* sizeof(HoneGraphPasses) */
  void* data;  /* handed to the function */
  const char* list;
  int32_t (*run)(void* data, int32_t pass, const char* graph, const DLTensor* given, int32_t count, void* to,
                 void (*write)(void* to, const char* text, const DLTensor* made, int32_t count));
} HoneGraphPasses;

/* Functions through which a caller follows a call; any may be null. All are called during the call, one at a time, on
   the thread that called or on one of the library's. They must not throw. */
typedef struct HoneCall {
  size_t size; /* sizeof(HoneCall) */
  void* data;  /* handed to the functions */
  /* The lines that the programs print on stderr: what was assumed, which configs were found. */
  void (*line)(void* data, const char* line);
  void (*progress)(void* data, const HoneProgress* progress);
  /* How often the user has asked to stop, asked every now and then: with 1 a search confirms what it found, within some
     seconds, with 2 it ends at once; a build ends with 1. */
  int32_t (*stops)(void* data);
  const HoneGraphPasses* passes; /* of a model that is built or tuned; may be null */
  /* Definitions of the caller's operators, asked for while a model is read, in JSON; may be null. Calls write(to, TEXT)
     once and returns HONE_OK, or returns HONE_STOPPED, which ends the call. The questions, and what is answered:

       {"operators": true}                               ["my.domain::RotaryPair", ...]: which there are; instead of a
                                                         name {"name": NAME, "file": PATH} where a file defines it
       {"operator": "my.domain::RotaryPair", "node": "rotary_3", "attributes": {"theta": 10000.0},
        "inputs": [["f32", [1, 8, 64]], null, ...]}      {"definition": TEXT}, or {"error": "one line"}

     A definition is a text as Hone's Python package makes them, of these inputs (null: the node leaves it out) in their
     order. Each call of an operator is asked for once. */
  int32_t (*define)(void* data, const char* question, void* to, void (*write)(void* to, const char* text));
} HoneCall;

/* Builds the model in the file `model` (ONNX, TensorFlow Lite: its content says which) to a shared object at `artifact`
   (and a C header beside it), which hone_open opens, with options of tensorc. `call` may be null. `*output`: the
   model's description as JSON (inputs, outputs, layers with their workloads, configs and where these are from, and what
   the file says of itself), or null where this fails; to be freed by hone_free_text. `output` may be null. */
HONE_API int32_t hone_compile(const char* model, const char* artifact, const char* const* options, int32_t count,
                              const HoneCall* call, char** output);
/* The same of one operator: `workload` is its canonical text, "dense(m=128,n=768,k=768)". Without a description:
   `*output` is the output of options like --bench. */
HONE_API int32_t hone_compile_operator(const char* workload, const char* artifact, const char* const* options,
                                       int32_t count, const HoneCall* call, char** output);

/* Tunes what options of tuner say ("--model=m.onnx", "--task=conv2d", "--trials=500"), on this machine (with the
   programs tracker and device-agent, which must lie in the folder bin beside the library's) or, with --fleet or
   --tracker, on a fleet. `*output`: the outcome as JSON. Each measurement is in the database at once. */
HONE_API int32_t hone_tune(const char* const* options, int32_t count, const HoneCall* call, char** output);

/* A template of the caller's: a definition, knobs, and for their choices the steps of a schedule. The library asks for
   these in JSON, and `answer` answers: calls write(to, TEXT) once and returns HONE_OK, or returns HONE_STOPPED, which
   ends the search. It is called on threads of the library's, one at a time, and must not throw. The questions, and what
   is answered:

     {"target": "llvm -mtriple=..."}   {"name": "matmul", "revision": 1, "program": TEXT, "definition": TEXT,
                                        "attributes": [["m", "64"], ...], "knobs": [{"name": "rows", "kind": "choice",
                                        "choices": [[4], [6]], "default": 0, "for_threads": false}, ...]}
     {"settle": [[0, 2], ...]}         [{"idle": [1], "broken": "tiles fit L1", "at": 2}, ...]
     {"apply": [[0, 2], ...]}          [{"steps": TEXT}, ...]

   A config is the position of each knob's choice; a split's choices are lists of its factors, outermost first. `idle`:
   knobs that do not matter there; `broken`: a requirement that does not hold, with `at` knobs asked for before it, or
   "". Any answer, or that of one config, may be {"error": "one line"}: such a config is none of the space, or a failed
   trial. `program` differs where the same choices give other steps than at an earlier time. Definitions and steps are
   texts as Hone's Python package makes them: hone.te.Schedule's `record` is one of steps. */
typedef struct HoneTemplate {
  size_t size; /* sizeof(HoneTemplate) */
  void* data;  /* handed to the function */
  int32_t (*answer)(void* data, const char* question, void* to, void (*write)(void* to, const char* text));
} HoneTemplate;

/* As hone_tune, of the operator that the template defines. Agents get its programs and its definition, as of any other;
   nothing of the caller's code travels. */
HONE_API int32_t hone_tune_template(const HoneTemplate* given, const char* const* options, int32_t count,
                                    const HoneCall* call, char** output);

/* A command of tophub: {"best", "--task=dense", "--json"}, {"list", "--json"}, {"import", "records.jsonl"}. `*output`:
   the command's output. */
HONE_API int32_t hone_tophub(const char* const* words, int32_t count, char** output);

/* A node of a graph, as JSON: of an operator on inputs of these types, with the attributes that types do not say,

     {"op": "dense", "attributes": {"epilogue": "relu"}, "inputs": [["f32", [1, 4]], ["f32", [3, 4]]]}

   or of a workload, with some attributes changed where "change" is there,

     {"workload": "dense(m=1,n=3,k=4)", "change": {"epilogue": "relu"}}

   with "definitions": [TEXT, ...] where it is op(...), which names one by its hash (those of a graph's text).
   `*output`: {"workload": TEXT, "op": NAME, "attributes": [[NAME, TEXT], ...], "inputs": [TYPE, ...], "outputs": [TYPE,
   ...]}, types as above. HONE_BAD_INPUT, with one line, where there is no such node.
   {"names": true}: `*output` is {"operators": {NAME: [ATTRIBUTE, ...], ...}, "functions": [NAME, ...]}, all that nodes
   may be. */
HONE_API int32_t hone_graph_node(const char* question, char** output);

/* Null does nothing. */
HONE_API void hone_free_text(char* text);

#ifdef __cplusplus
}
#endif

#endif
