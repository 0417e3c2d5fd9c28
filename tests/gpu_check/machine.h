// On which machine gpu-check ran.
#pragma once

#include <string>

namespace hone::gpu_check {

/// `NVIDIA H100 80GB HBM3, driver 580.159.03` as NVIDIA's kernel module says in `folder`; without one, or for a target
/// that is none of CUDA, the target. GPUs of several models are all named, since their order there is not CUDA's.
std::string machine_text(const std::string& target, const std::string& folder = "/proc/driver/nvidia");

}  // namespace hone::gpu_check
