/* Files that are built anew under the path of one that is loaded. */
#ifndef HONE_LOAD_H
#define HONE_LOAD_H

/* dlopen() of the file that lies at `path`, which has a slash, now; null, and dlerror says why, where it fails. */
__attribute__((visibility("hidden"))) void* hone_load(const char* path);

#endif
