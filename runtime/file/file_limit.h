#ifndef RUNTIME_FILE_FILE_LIMIT_H_
#define RUNTIME_FILE_FILE_LIMIT_H_

#include <cstdint>

namespace runtime {

// How many files a process may have open; all ones: any number.
struct FileLimit {
  std::uint64_t soft = 0, hard = 0;  // Both 0: not known.
};

// Raises this process's soft limit of open files to its hard one; the usual 1024 is too little for
// many connections and files. Returns the limits as they were: a process that starts programs of
// others gives them those back, because they would inherit it, and those that use select() break on
// large descriptors.
//
// Also makes room for kFileTable descriptors (or as many as may be open). Call it before there are
// threads: the kernel doubles the table when it is full, and lets who opens the file then wait for
// all processors (10 to 20 ms) if other threads use the same table.
FileLimit RaiseFileLimit();
inline constexpr int kFileTable = 8192;

}  // namespace runtime

#endif  // RUNTIME_FILE_FILE_LIMIT_H_
