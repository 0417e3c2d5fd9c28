// The tensors of a call of an artifact for a GPU: checks of them, and the device's as buffers.
#pragma once

#include <cstdint>
#include <memory>

#include "compiler/runtime/device.h"
#include "compiler/runtime/include/hone_runtime.h"

namespace hone {

/// Whether a GPU's code may take tensors on a device of type `from`: the GPU's own memory (kDLCUDA or kDLOpenCL), and
/// for CUDA memory shared with the host, which it reads and writes by the host's address.
bool is_on_device(const HoneGpuProgram& program, const DLTensor& tensor);

/// Bytes of an element.
int64_t element_bytes(const HoneGpuParam& p);

/// InvalidArgument, which names the parameter, where tensor number `i` is missing, has no data, is of another type, or
/// lies elsewhere than on the CPU (`on_cpu`) or the program's device.
Status check_tensor(const HoneGpuProgram& program, int64_t i, const DLTensor* tensor, bool on_cpu);
/// The same of its type alone.
Status check_type(const HoneGpuParam& p, const DLTensor& tensor);

/// Tensor number `i`, which is on the device, as a buffer of `bytes`. InvalidArgument where it does not begin as
/// entries take it: OpenCL: with its cl_mem; CUDA: at a multiple of 16 bytes.
StatusOr<std::unique_ptr<DeviceBuffer>> wrap_tensor(Device& device, const HoneGpuProgram& program, int64_t i,
                                                    const DLTensor& tensor, int64_t bytes);

}  // namespace hone
