#include <string.h>

#include "compiler/runtime/entry/entry.h"

__attribute__((weak)) void hone_entry1_row(const HoneRow* row, const void* from, void* to, const void* count) {
  int64_t rows;
  memcpy(&rows, count, sizeof rows);
  for (int64_t m = 0; m < row->matrices; ++m)
    memcpy((char*)to + rows * row->bytes + m * row->matrix_bytes, (const char*)from + m * row->bytes,
           (size_t)row->bytes);
}
