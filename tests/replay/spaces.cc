#include "tests/replay/spaces.h"

#include <sstream>
#include "tests/fakes/workloads.h"

namespace hone::replay {
namespace {

// `knob=a|b other=c`
Narrowing parse_narrowing(const std::string& text) {
  Narrowing out;
  std::istringstream items(text);
  for (std::string item; items >> item;) {
    const size_t equals = item.find('=');
    std::istringstream choices(item.substr(equals + 1));
    for (std::string choice; std::getline(choices, choice, '|');) out[item.substr(0, equals)].push_back(choice);
  }
  return out;
}

ReplaySpace space(const char* name, const char* workload, const char* narrowing, bool held_out) {
  return {name, parse_workload(workload), parse_narrowing(narrowing), held_out};
}

}  // namespace

const std::vector<ReplaySpace>& replay_spaces() {
  static const std::vector<ReplaySpace> table = {
      // Developed on.
      space("C3", "conv2d(n=1,ci=64,h=56,w=56,co=64,kh=1,kw=1,stride=1,pad=0)",
            "oc_block=16|32|64 ic_block=16|64 tile_ow=14x4|8x7|7x8|4x14|2x28 tile_oh=1|2|4 tasks_oh=2|8|28 pad_at=0 "
            "oc_inside=0|1 order=0|1 unroll_ic=1|4|16 "
            "unroll_kw=0 vector_bits=512 g_oc_block=16|32|64 g_ic_block=16|64 g_tile_p=2|4|7|8|12|14|28 "
            "g_tasks=2|8|32|128 g_unroll_ic=1|2|4 partition=0",
            false),
      space("C6", "conv2d(n=1,ci=128,h=28,w=28,co=128,kh=3,kw=3,stride=1,pad=1)",
            "algorithm=4 w_oc_block=16|32|64 w_ic_block=16|32|64 w_tile_p=2|4|5|6|7|8|10|12|14 w_block_p=1|2|4|8|16 "
            "w_unroll_ic=1|2|4",
            false),
      space("C7", "conv2d(n=1,ci=128,h=28,w=28,co=256,kh=3,kw=3,stride=2,pad=1)",
            "algorithm=0 oc_block=16|32|64 ic_block=8|64 tile_oh=1|2|4 tasks_oh=1|14 pad_at=0|2 oc_inside=0 "
            "unroll_ic=1|8 vector_bits=512 order=0|1 partition=0",
            false),
      space("D3", "depthwise_conv2d(n=1,c=128,h=56,w=56,kh=3,kw=3,stride=1,pad=1)",
            "tasks_oh=1|4|16|56 vector_bits=512 partition=0 tile_ow=28x2|14x4|8x7|7x8|4x14|4x16", false),
      space(
          "M2", "dense(m=128,n=768,k=768)",
          "tile_m=2|4|7|8|10|14|28 tasks_m=1|3|12 tasks_n=1|4|48 split_k=1 unroll_k=1|4|8 vector_bits=512 partition=0",
          false),
      space("B1", "batch_matmul(b=12,m=128,n=128,k=64)",
            "tile_m=1|4|8|10|13|28 tasks_m=1|3|16 tasks_n=1|4 vector_bits=512 unroll_k=1|2|8 partition=0", false),
      // Held out.
      space("C2", "conv2d(n=1,ci=64,h=56,w=56,co=64,kh=3,kw=3,stride=1,pad=1)",
            "algorithm=0|2|3|4 oc_block=16|32|64 ic_block=16|64 tile_ow=14x4|8x7|4x14|2x28 tile_oh=1|2|4 tasks_oh=4|28 "
            "pad_at=0 oc_inside=0|1 order=0|1 unroll_ic=1|4 "
            "unroll_kw=0 vector_bits=512 w_oc_block=16|32|64 w_ic_block=16|64 w_tile_p=2|5|6|8|10|14 "
            "w_block_p=1|2|5|10|20 w_unroll_ic=1|4 partition=0",
            true),
      space("C8", "conv2d(n=1,ci=128,h=28,w=28,co=256,kh=1,kw=1,stride=2,pad=0)",
            "algorithm=1 g_ic_block=8|16|64 g_tile_p=2|4|6|7|8|10|12|14|20|28 g_tasks=1|2|6|16|48 partition=0", true),
      space("C9", "conv2d(n=1,ci=256,h=14,w=14,co=256,kh=3,kw=3,stride=1,pad=1)",
            "algorithm=2|3|4 w_oc_block=16|32|64 w_ic_block=16|64 w_tile_p=1|2|4|6|8|12|14 w_block_p=1|2|4|8 "
            "w_unroll_ic=1|4 partition=0",
            true),
      space("D6", "depthwise_conv2d(n=1,c=256,h=28,w=28,kh=3,kw=3,stride=2,pad=1)",
            "tasks_oh=1|4|14 partition=0|1 tile_oh=1|2|4|7 unroll_kh=1", true),
      space("M5", "dense(m=64,n=512,k=1024)",
            "tile_m=1|4|8|11|16|28 tasks_m=1|2|8 tasks_n=1|8 unroll_k=1|2|8 split_k=1|2 partition=0", true),
      space("B3", "batch_matmul(b=8,m=512,n=512,k=64)",
            "n_block=16|32|64 tile_m=2|5|6|8|11|14|28 tasks_m=1|4|64 tasks_n=1|4|16 unroll_k=1|4 vector_bits=512 "
            "partition=0",
            true),
  };
  return table;
}

}  // namespace hone::replay
