// Whether this program is instrumented by a sanitizer of memory or threads: it then reserves terabytes of addresses,
// keeps freed memory for a while, reads files and makes system calls of its own at any time.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HONE_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HONE_SANITIZER 1
#endif
#endif
#ifndef HONE_SANITIZER
#define HONE_SANITIZER 0
#endif

namespace hone {
inline constexpr bool kSanitizer = HONE_SANITIZER != 0;
}  // namespace hone
