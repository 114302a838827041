#ifndef RUNTIME_FILE_FILE_LIMIT_H_
#define RUNTIME_FILE_FILE_LIMIT_H_

#include <cstdint>

namespace runtime {

// Limits of a process's open files; all bits set: unlimited.
struct FileLimit {
  std::uint64_t soft = 0, hard = 0;  // Both 0: unknown.
};

// Raises this process's soft limit of open files to its hard limit, since the usual 1024 is too
// little for many connections and files. Returns the previous limits. A process that starts other
// programs must restore them in its children: they would inherit the raised limit, and programs
// that use select() break on large descriptors.
//
// Also grows the descriptor table to kFileTable (or to the limit, if that is lower). Call it before
// any thread starts: the kernel doubles a full table, and if threads share it, the thread that
// opens a file then waits for all processors (10 to 20 ms).
FileLimit RaiseFileLimit();
inline constexpr int kFileTable = 8192;

}  // namespace runtime

#endif  // RUNTIME_FILE_FILE_LIMIT_H_
