#ifndef EVENTLOG_OPEN_FILE_BOUND_H_
#define EVENTLOG_OPEN_FILE_BOUND_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "runtime/mutex.h"

namespace eventlog {

// Limits the number of event files that all threads of the process have open. Any thread may call
// it.
class OpenFileBound {
 public:
  // `files` is at least 1.
  explicit OpenFileBound(int files);
  OpenFileBound(const OpenFileBound&) = delete;
  OpenFileBound& operator=(const OpenFileBound&) = delete;

  // Returns the limit for `threads` threads: two files each, but at most half of the descriptors
  // that the process has left beside its sockets and its own files; at least 2. `file_limit` is the
  // soft limit of open files.
  static int For(int threads, std::uint64_t file_limit);

  // Occupies one of the files during its lifetime; its constructor waits until one is free.
  class Slot {
   public:
    explicit Slot(OpenFileBound* bound);  // Null: no limit.
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    OpenFileBound* const bound_;
  };

 private:
  runtime::Mutex mutex_;
  runtime::CondVar free_again_;
  int free_ GUARDED_BY(mutex_);
};

}  // namespace eventlog

#endif  // EVENTLOG_OPEN_FILE_BOUND_H_
