#include "compiler/runtime/launcher/tensors.h"

int hone_internal_is_on_device(const HoneDriver* driver, const DLTensor* tensor) {
  const int32_t from = (int32_t)tensor->device.device_type;
  if (from == driver->device_type) return 1;
  for (const int32_t* host = driver->host_device_types; *host; ++host)
    if (*host == from) return 1;
  return 0;
}

int hone_internal_is_on_other(const HoneDriver* driver, const DLTensor* tensor) {
  return driver->device_id >= 0 && (int32_t)tensor->device.device_type == driver->device_type &&
         tensor->device.device_id != driver->device_id;
}

int hone_internal_is_on_cpu(const DLTensor* tensor) { return tensor->device.device_type == kDLCPU; }

int64_t hone_internal_element_bytes(const HoneGpuParam* param) {
  return ((int64_t)param->dtype.bits * param->dtype.lanes + 7) / 8;
}

int32_t hone_internal_check_type(const HoneGpuParam* param, const DLTensor* t, HoneWords* words) {
  const DLDataType wanted = param->dtype, given = t->dtype;
  if (given.code == wanted.code && given.bits == wanted.bits && given.lanes == wanted.lanes) return HONE_OK;
  return hone_internal_say(words, HONE_BAD_ARGUMENTS, "parameter '%s' has type %d.%dx%d, not %d.%dx%d", param->name,
                           given.code, given.bits, given.lanes, wanted.code, wanted.bits, wanted.lanes);
}

int32_t hone_internal_check_tensor(const HoneDriver* driver, const HoneGpuParam* param, const DLTensor* t,
                                   HoneWhere where, HoneWords* words) {
  if (!t || !t->data) return hone_internal_say(words, HONE_BAD_ARGUMENTS, "parameter '%s' has no data", param->name);
  const int is_right = (where != HONE_ON_DEVICE && hone_internal_is_on_cpu(t)) ||
                       (where != HONE_ON_CPU && hone_internal_is_on_device(driver, t));
  if (!is_right)
    return hone_internal_say(words, HONE_BAD_ARGUMENTS, "parameter '%s' is on a device of type %d, not %d%s",
                             param->name, (int)t->device.device_type,
                             where == HONE_ON_CPU ? (int)kDLCPU : (int)driver->device_type,
                             where == HONE_ANYWHERE ? " nor the CPU" : "");
  if (hone_internal_is_on_other(driver, t))
    return hone_internal_say(words, HONE_BAD_ARGUMENTS, "parameter '%s' is on %s:%d, and the call runs on %s:%d",
                             param->name, driver->api, (int)t->device.device_id, driver->api, (int)driver->device_id);
  return hone_internal_check_type(param, t, words);
}

int32_t hone_internal_native(const HoneDriver* driver, const HoneGpuParam* param, const DLTensor* t, void** native,
                             HoneWords* words) {
  if (!driver->has_addresses && t->byte_offset != 0)
    return hone_internal_say(words, HONE_BAD_ARGUMENTS,
                             "parameter '%s' begins %llu bytes into its cl_mem; it must begin with it", param->name,
                             (unsigned long long)t->byte_offset);
  *native = driver->has_addresses ? (char*)t->data + t->byte_offset : t->data;
  if (driver->has_addresses && (uintptr_t)*native % 16 != 0)
    return hone_internal_say(words, HONE_BAD_ARGUMENTS, "parameter '%s' is not 16-byte aligned", param->name);
  return HONE_OK;
}

char* hone_internal_data(const DLTensor* tensor) { return (char*)tensor->data + tensor->byte_offset; }
