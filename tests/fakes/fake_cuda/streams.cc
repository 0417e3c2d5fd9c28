// Streams, graphs and events of the fake CUDA driver.
#include "tests/fakes/fake_cuda/driver.h"

using namespace hone::fake_driver;

// --- streams ---

EXPORT int cuStreamCreate(void** stream, unsigned flags) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuStreamCreate", std::to_string(flags))) return code;
  auto made = std::make_shared<Stream>();
  made->context = current();
  made->is_blocking = flags == 0;
  *stream = made.get();
  streams[*stream] = std::move(made);
  return ++state->streams, 0;
}
EXPORT int cuStreamDestroy_v2(void* stream) {
  const Locked lock(mutex);
  const auto found = streams.find(stream);
  if (found == streams.end()) return refuse("destroying what is no stream", kInvalidHandle);
  // Work that was sent to it is still done.
  found->second->run_all();
  return streams.erase(found), --state->streams, 0;
}
EXPORT int cuStreamGetCtx(void* stream, void** context) {
  const Locked lock(mutex);
  if (state->broken) return state->broken;
  if (stream && !streams.count(stream)) return refuse("a stream that is not alive", kInvalidHandle);
  return *context = stream ? streams[stream]->context : current(), 0;
}
// Asked again and again, it is not recorded.
EXPORT int cuStreamQuery(void* stream) {
  const Locked lock(mutex);
  if (state->is_never_ready) return 600;
  const std::shared_ptr<Stream> s = stream_of(stream);
  if (!s) return kInvalidHandle;
  s->run_all();
  return waited(0);
}
EXPORT int cuStreamSynchronize(void* stream) {
  const Locked lock(mutex);
  const int code = called_in_context("cuStreamSynchronize");
  const std::shared_ptr<Stream> s = stream_of(stream);
  if (!s) return kInvalidHandle;
  s->run_all();
  return waited(code);
}
EXPORT int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuStreamWaitEvent")) return code;
  const std::shared_ptr<Stream> s = stream_of(stream);
  const Event* const e = event_of(event);
  if (!s || !e) return kInvalidHandle;
  // Waits for what the event was recorded behind now, whatever it is recorded behind later.
  return send(s, !stream, [reached = *e] { return reached.reach(), 0; }), 0;
}

// --- graphs ---

EXPORT int cuStreamBeginCapture_v2(void* stream, int mode) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuStreamBeginCapture", std::to_string(mode))) return code;
  if (!stream) return 900;
  const std::shared_ptr<Stream> s = stream_of(stream);
  if (!s) return kInvalidHandle;
  s->recording = std::make_unique<Graph>();
  return s->recording->context = current(), 0;
}
EXPORT int cuStreamEndCapture(void* stream, void** graph) {
  const Locked lock(mutex);
  const int code = called("cuStreamEndCapture");
  const std::shared_ptr<Stream> s = stream_of(stream);
  if (!s) return kInvalidHandle;
  std::unique_ptr<Graph> recorded = std::move(s->recording);
  if (code) return code;
  *graph = recorded.get();
  graphs[*graph] = std::move(recorded);
  return ++state->graphs, 0;
}
EXPORT int cuGraphCreate(void** graph, unsigned flags) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuGraphCreate", std::to_string(flags))) return code;
  auto made = std::make_unique<Graph>();
  made->context = current();
  *graph = made.get();
  graphs[*graph] = std::move(made);
  return ++state->graphs, 0;
}

namespace {

int add_node(void** handle, void* graph, void* const* after, size_t n, Node made) {
  Graph* const g = graph_of(graph);
  if (!g) return kInvalidHandle;
  if (g->context != current()) return refuse("a graph of another context");
  for (size_t i = 0; i < n; ++i) {
    if (!g->find(after[i])) return refuse("behind a node of another graph");
    made.after.push_back(after[i]);
  }
  g->nodes.push_back(std::make_unique<Node>(std::move(made)));
  return *handle = g->nodes.back().get(), 0;
}

// A copy of one row, as graphs take other memory for.
int make_copy(const CuCopyNode& c, Node* node) {
  if (c.rows != 1 || c.layers != 1 || c.bytes == 0) return refuse("a copy of more than a row, or of nothing");
  for (const CuCopySide* s : {&c.from, &c.to})
    if (s->memory != HONE_CU_MEMORY_OF_DEVICE || s->x_bytes || s->y || s->z || s->level || s->array)
      return refuse("a copy of other memory");
  node->work = copying(at(c.to.address), at(c.from.address), c.bytes);
  node->from_pinned = memory.is_pinned(at(c.from.address));
  node->to_pinned = memory.is_pinned(at(c.to.address));
  return 0;
}

int instantiate(void** exec, void* graph) {
  const Graph* const g = graph_of(graph);
  if (!g) return kInvalidHandle;
  if (const int code = called_in_context("cuGraphInstantiate", std::to_string(g->nodes.size()))) return code;
  auto made = std::make_unique<GraphExec>();
  made->context = g->context;
  made->of = g;
  for (const auto& n : g->nodes) made->handles.push_back(n.get()), made->nodes.push_back(*n);
  made->set_order();
  *exec = made.get();
  execs[*exec] = std::move(made);
  return ++state->graphs, 0;
}

// The node of the executable graph that was made of `handle`; null: of none.
Node* node_of(GraphExec* e, const void* handle) {
  // Nodes end with their graph.
  const bool is_alive = graphs.count(const_cast<Graph*>(e->of)) && e->of->find(handle);
  for (size_t i = 0; is_alive && i < e->handles.size(); ++i)
    if (e->handles[i] == handle) return &e->nodes[i];
  return refuse("a node of another graph"), nullptr;
}

}  // namespace

EXPORT int cuGraphAddKernelNode(void** node, void* graph, void* const* after, size_t n, const CuKernelNode* kernel) {
  const Locked lock(mutex);
  Node made;
  made.is_kernel = true;
  const int code = make_launch("cuGraphAddKernelNode", *kernel, &made.work);
  return code ? code : add_node(node, graph, after, n, std::move(made));
}
EXPORT int cuGraphAddMemcpyNode(void** node, void* graph, void* const* after, size_t n, const CuCopyNode* copy,
                                void* context) {
  const Locked lock(mutex);
  Node made;
  if (const int code = called_in_context("cuGraphAddMemcpyNode", std::to_string(copy->bytes))) return code;
  if (context != current()) return refuse("a copy in another context");
  const int code = make_copy(*copy, &made);
  return code ? code : add_node(node, graph, after, n, std::move(made));
}
EXPORT int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  const Locked lock(mutex);
  return instantiate(exec, graph);
}
EXPORT int cuGraphInstantiate(void** exec, void* graph, void**, char*, size_t) {
  const Locked lock(mutex);
  return instantiate(exec, graph);
}
EXPORT int cuGraphExecKernelNodeSetParams(void* exec, void* node, const CuKernelNode* kernel) {
  const Locked lock(mutex);
  Work work;
  if (const int code = make_launch("cuGraphExecKernelNodeSetParams", *kernel, &work)) return code;
  GraphExec* const e = exec_of(exec);
  Node* const n = e ? node_of(e, node) : nullptr;
  if (!n) return kInvalidHandle;
  if (!n->is_kernel || e->context != current()) return refuse("other arguments of what is no kernel here");
  return n->work = std::move(work), 0;
}
EXPORT int cuGraphExecMemcpyNodeSetParams(void* exec, void* node, const CuCopyNode* copy, void* context) {
  const Locked lock(mutex);
  Node made;
  if (const int code = called_in_context("cuGraphExecMemcpyNodeSetParams", std::to_string(copy->bytes))) return code;
  GraphExec* const e = exec_of(exec);
  Node* const n = e ? node_of(e, node) : nullptr;
  if (!n) return kInvalidHandle;
  if (n->is_kernel || context != current() || e->context != current())
    return refuse("other memory of what is no copy here");
  if (const int code = make_copy(*copy, &made)) return code;
  // As the driver's manual says: not where it is mapped otherwise.
  if (made.from_pinned != n->from_pinned || made.to_pinned != n->to_pinned) return 1;
  return n->work = std::move(made.work), 0;
}
EXPORT int cuGraphLaunch(void* exec, void* stream) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuGraphLaunch")) return code;
  const GraphExec* const e = exec_of(exec);
  const std::shared_ptr<Stream> s = stream_of(stream);
  if (!e || !s) return kInvalidHandle;
  if (e->context != current()) return refuse("a graph of another context");
  state->streams_used.push_back(stream);
  // As it is now: later changes are not for this launch.
  if (state->order == hone::FakeOrder::kAtOnce) return s->run_all(), e->run();
  return send(s, !stream, [launched = *e] { return launched.run(); }), 0;
}
EXPORT int cuGraphExecDestroy(void* exec) {
  const Locked lock(mutex);
  return exec_of(exec) ? (execs.erase(exec), --state->graphs, 0) : kInvalidHandle;
}
EXPORT int cuGraphDestroy(void* graph) {
  const Locked lock(mutex);
  return graph_of(graph) ? (graphs.erase(graph), --state->graphs, 0) : kInvalidHandle;
}

// --- events ---

EXPORT int cuEventCreate(void** event, unsigned flags) {
  const Locked lock(mutex);
  if (const int code = called("cuEventCreate", std::to_string(flags))) return code;
  auto made = std::make_unique<Event>();
  made->context = current();
  *event = made.get();
  events[*event] = std::move(made);
  ++state->events;
  return 0;
}
EXPORT int cuEventDestroy_v2(void* event) {
  const Locked lock(mutex);
  return event_of(event) ? (events.erase(event), --state->events, 0) : kInvalidHandle;
}
EXPORT int cuEventRecord(void* event, void* stream) {
  const Locked lock(mutex);
  if (const int code = called("cuEventRecord", stream ? "stream" : "")) return code;
  const std::shared_ptr<Stream> s = stream_of(stream);
  Event* const e = event_of(event);
  if (!s || !e) return kInvalidHandle;
  if (e->context != s->context) return refuse("an event of another context", kInvalidHandle);
  send(s, !stream, [event] {
    const auto found = events.find(event);
    if (found != events.end()) found->second->ms = state->now_ms;
    return 0;
  });
  e->stream = s;
  e->until = s->sent;
  return 0;
}
EXPORT int cuEventSynchronize(void* event) {
  const Locked lock(mutex);
  const int code = called("cuEventSynchronize");
  const Event* const e = event_of(event);
  if (!e) return kInvalidHandle;
  e->reach();
  return waited(code);
}
EXPORT int cuEventElapsedTime(float* ms, void* from, void* to) {
  const Locked lock(mutex);
  const Event *const f = event_of(from), *const t = event_of(to);
  if (!f || !t) return kInvalidHandle;
  *ms = static_cast<float>(t->ms - f->ms);
  return f->ms < 0 || t->ms < 0 ? kInvalidHandle : 0;
}
