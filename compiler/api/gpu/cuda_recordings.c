/* Recordings of CUDA's: graphs that are made node by node, so that the node of each command is known and can be given
   other memory. */
#include <stdlib.h>
#include <string.h>

#include "compiler/api/gpu/cuda.h"

#define say hone_internal_say
#define check hone_internal_cuda_check

/* A command, which runs behind the one before it. */
typedef struct Node {
  CuGraphNode node;
  const HoneCudaBound* bound; /* null: a copy */
  int64_t bytes;              /* of the copy */
  CuAddress* addresses;       /* of the kernel's arguments; of a copy from and to */
} Node;

typedef struct Recording {
  CuGraph graph; /* has the nodes by which `exec` is changed */
  CuGraphExec exec;
  Node* nodes;
  int64_t count, room;
  int64_t passed; /* of the commands that are told anew */
} Recording;

static int32_t no_memory(HoneWords* words) { return say(words, HONE_GPU_FAILED, "the host has no memory left"); }

static void free_recording(HoneCuda* c, Recording* r) {
  if (r->exec) c->cu.nodes.destroy_exec(r->exec);
  if (r->graph) c->cu.nodes.destroy(r->graph);
  for (int64_t i = 0; i < r->count; ++i) free(r->nodes[i].addresses);
  free(r->nodes);
  free(r);
}

/* The place of the next node; null: no memory. */
static Node* new_node(Recording* r, const HoneCudaBound* bound, const CuAddress* addresses, int32_t count) {
  if (r->count == r->room) {
    const int64_t room = r->room ? 2 * r->room : 32;
    Node* const nodes = realloc(r->nodes, (size_t)room * sizeof *nodes);
    if (!nodes) return NULL;
    r->nodes = nodes;
    r->room = room;
  }
  CuAddress* const copied = malloc(((size_t)count + 1) * sizeof *copied);
  if (!copied) return NULL;
  memcpy(copied, addresses, (size_t)count * sizeof *copied);
  r->nodes[r->count] = (Node){.bound = bound, .addresses = copied};
  return &r->nodes[r->count++];
}

/* The node of the next command that is told anew; null: there was another one. */
static Node* next_node(Recording* r, const HoneCudaBound* bound, int64_t bytes) {
  if (r->passed == r->count) return NULL;
  Node* const n = &r->nodes[r->passed++];
  return n->bound == bound && n->bytes == bytes ? n : NULL;
}

static int32_t other_commands(HoneWords* words) {
  return say(words, HONE_GPU_FAILED, "other commands than those that were recorded");
}

/* Whether the node has other addresses than these, which it has from now on. */
static int takes_addresses(Node* n, const CuAddress* addresses, int32_t count) {
  if (memcmp(n->addresses, addresses, (size_t)count * sizeof *addresses) == 0) return 0;
  memcpy(n->addresses, addresses, (size_t)count * sizeof *addresses);
  return 1;
}

/* The node in front of the newest one, and how many there are: 0 or 1. */
static const CuGraphNode* before_last(const Recording* r) { return r->count > 1 ? &r->nodes[r->count - 2].node : NULL; }
static size_t is_behind(const Recording* r) { return r->count > 1; }

int32_t hone_internal_cuda_record_launch(HoneCuda* c, const HoneCudaBound* b, HoneWords* words) {
  Recording* const r = c->recorder;
  const HoneGpuLaunch* const l = b->launch;
  const CuKernelNode kernel = {.function = b->function,
                               .grid_x = (unsigned)l->blocks,
                               .grid_y = 1,
                               .grid_z = 1,
                               .block_x = (unsigned)l->threads,
                               .block_y = 1,
                               .block_z = 1,
                               .dynamic_bytes = (unsigned)l->dynamic_shared_bytes,
                               .parameters = b->parameters};
  if (!r->exec) {
    Node* const n = new_node(r, b, b->addresses, b->count);
    if (!n) return no_memory(words);
    return check(c, c->cu.nodes.add_kernel(&n->node, r->graph, before_last(r), is_behind(r), &kernel), words,
                 "recording kernel '%s'", l->kernel);
  }
  Node* const n = next_node(r, b, 0);
  if (!n) return other_commands(words);
  if (!takes_addresses(n, b->addresses, b->count)) return HONE_OK;
  return check(c, c->cu.nodes.set_kernel(r->exec, n->node, &kernel), words, "other memory for kernel '%s'", l->kernel);
}

static CuCopySide side(CuAddress address, int64_t bytes) {
  return (CuCopySide){.memory = HONE_CU_MEMORY_OF_DEVICE, .address = address, .pitch = (size_t)bytes, .height = 1};
}

int32_t hone_internal_cuda_record_copy(HoneCuda* c, CuAddress from, CuAddress to, int64_t bytes, HoneWords* words) {
  Recording* const r = c->recorder;
  const CuAddress addresses[2] = {from, to};
  const CuCopyNode copy = {
      .from = side(from, bytes), .to = side(to, bytes), .bytes = (size_t)bytes, .rows = 1, .layers = 1};
  /* Graphs have no copies of nothing. */
  if (bytes == 0) return HONE_OK;
  if (!r->exec) {
    Node* const n = new_node(r, NULL, addresses, 2);
    if (!n) return no_memory(words);
    n->bytes = bytes;
    return check(c, c->cu.nodes.add_copy(&n->node, r->graph, before_last(r), is_behind(r), &copy, c->context), words,
                 "recording a copy");
  }
  Node* const n = next_node(r, NULL, bytes);
  if (!n) return other_commands(words);
  if (!takes_addresses(n, addresses, 2)) return HONE_OK;
  return check(c, c->cu.nodes.set_copy(r->exec, n->node, &copy, c->context), words, "other memory for a copy");
}

int32_t hone_internal_cuda_record(void* self, int32_t (*commands)(void* closure, void* stream), void* closure,
                                  void** recording, HoneWords* words) {
  HoneCuda* const c = self;
  if (!c->cu.has_nodes) return HONE_OK;
  int32_t code = hone_internal_cuda_enter(c, words);
  if (code != HONE_OK) return code;
  Recording* const r = calloc(1, sizeof *r);
  if (!r) return hone_internal_cuda_leave(c, no_memory(words));
  code = check(c, c->cu.nodes.create(&r->graph, 0), words, "a graph");
  if (code == HONE_OK) {
    c->recorder = r;
    code = commands(closure, r);
    c->recorder = NULL;
  }
  if (code == HONE_OK)
    code = check(c, c->cu.nodes.instantiate(&r->exec, r->graph, NULL, NULL, 0), words, "a graph of what was recorded");
  if (code == HONE_OK)
    *recording = r;
  else
    free_recording(c, r);
  return hone_internal_cuda_leave(c, code);
}

int32_t hone_internal_cuda_rebind(void* self, void* recording, int32_t (*commands)(void* closure, void* stream),
                                  void* closure, HoneWords* words) {
  HoneCuda* const c = self;
  Recording* const r = recording;
  int32_t code = hone_internal_cuda_enter(c, words);
  if (code != HONE_OK) return code;
  r->passed = 0;
  c->recorder = r;
  code = commands(closure, r);
  c->recorder = NULL;
  if (code == HONE_OK && r->passed != r->count) code = other_commands(words);
  return hone_internal_cuda_leave(c, code);
}

int32_t hone_internal_cuda_replay(void* self, void* recording, void* stream, HoneWords* words) {
  HoneCuda* const c = self;
  const Recording* const r = recording;
  const int32_t code = hone_internal_cuda_enter(c, words);
  if (code != HONE_OK) return code;
  return hone_internal_cuda_leave(c, check(c, c->cu.nodes.launch(r->exec, stream), words, "launching a graph"));
}

void hone_internal_cuda_forget(void* self, void* recording) {
  HoneCuda* const c = self;
  Recording* const r = recording;
  if (hone_internal_cuda_enter_to_free(c)) {
    free_recording(c, r);
    hone_internal_cuda_leave(c, HONE_OK);
    return;
  }
  /* The driver's objects stay where they are. */
  r->exec = NULL;
  r->graph = NULL;
  free_recording(c, r);
}
