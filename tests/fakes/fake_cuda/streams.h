// Streams, events and graphs of the fake CUDA driver. Commands stand in their stream's queue until somebody waits for
// them, as long as a test wants that; a graph's nodes run in any order that their dependencies allow.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

namespace hone::fake_driver {

using Work = std::function<int()>;

struct Node {
  Work work;
  std::vector<const void*> after;  // of the same graph
  bool is_kernel = false;
  bool from_pinned = false, to_pinned = false;  // of a copy
};

struct Graph {
  void* context = nullptr;
  std::vector<std::unique_ptr<Node>> nodes;

  Node* find(const void* node) const {
    for (const auto& n : nodes)
      if (n.get() == node) return n.get();
    return nullptr;
  }
};

/// A graph as it was when it was made executable.
struct GraphExec {
  void* context = nullptr;
  const Graph* of = nullptr;
  std::vector<const void*> handles;  // of the graph's nodes
  std::vector<Node> nodes;
  std::vector<size_t> order;

  /// Among the nodes that may run, the one that was added last comes first.
  int run() const {
    for (const size_t i : order)
      if (const int code = nodes[i].work()) return code;
    return 0;
  }
  void set_order() {
    std::set<const void*> done;
    while (order.size() < nodes.size()) {
      size_t next = nodes.size();
      for (size_t i = 0; i < nodes.size(); ++i) {
        bool is_ready = !done.count(handles[i]);
        for (const void* a : nodes[i].after) is_ready = is_ready && done.count(a);
        if (is_ready) next = i;
      }
      order.push_back(next);
      done.insert(handles[next]);
    }
  }
};

struct Stream {
  void* context = nullptr;
  bool is_blocking = false;          // waited for by what the default stream does at once
  std::unique_ptr<Graph> recording;  // null: commands are for the queue
  std::deque<Work> queue;
  uint64_t sent = 0, done = 0;

  void send(Work work) {
    queue.push_back(std::move(work));
    ++sent;
  }
  /// Runs commands until that many were.
  void run(uint64_t until) {
    while (done < until && !queue.empty()) {
      const Work work = std::move(queue.front());
      queue.pop_front();
      ++done;
      work();
    }
  }
  void run_all() { run(sent); }
};

struct Event {
  void* context = nullptr;
  double ms = -1;
  std::shared_ptr<Stream> stream;  // where it was recorded last; null: nowhere
  uint64_t until = 0;              // commands of it

  void reach() const {
    if (stream) stream->run(until);
  }
};

}  // namespace hone::fake_driver
