// Templates: from a workload, a target and the choices of the knobs to a schedule.
#pragma once

#include <memory>

#include "compiler/ops/workload.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/space.h"
#include "compiler/target/target.h"

namespace hone {

/// One function in three uses: declares knobs and constraints (`schedule` null), checks a config (null again), or
/// applies one: then it makes *schedule. It calls the knobs in the same order every time and looks at nothing but its
/// arguments.
using TemplateFunction = void (*)(const Workload& w, const Target& target, Knobs& knobs,
                                  std::unique_ptr<Schedule>* schedule);

/// Which tasks it is for, and on which kinds of targets, is a row of table.cc.
struct Template {
  std::string_view name;
  int revision;  ///< raised by hand when the same choices give another program
  TemplateFunction apply;
};

/// The template of a task on a kind of target. UserError when there is none.
const Template& template_for(const Workload& w, const Target& target);

void conv2d_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void depthwise_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void attention_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void cached_attention_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void matmul_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void dense_nbits_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void recurrent_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void pool_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void resize_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void transpose_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void cached_attention_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void matmul_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void conv2d_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void depthwise_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void pool_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void reduce_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void elementwise_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
/// elementwise and reduce, by fused.h.
void fused_workload_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

/// softmax, layer_norm and the like, by generic.h.
void generic_workload_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
/// The same, by generic_gpu.h.
void generic_workload_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

}  // namespace hone
