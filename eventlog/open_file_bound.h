#ifndef EVENTLOG_OPEN_FILE_BOUND_H_
#define EVENTLOG_OPEN_FILE_BOUND_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "runtime/mutex.h"

namespace eventlog {

// How many event files are open at once, of all threads of the process. Any thread may call it.
class OpenFileBound {
 public:
  // At least 1.
  explicit OpenFileBound(int files);
  OpenFileBound(const OpenFileBound&) = delete;
  OpenFileBound& operator=(const OpenFileBound&) = delete;

  // Two files a thread, but no more than half of what the process may open beside its sockets and
  // its own files; at least 2. `file_limit` is the soft limit of open files.
  static int For(int threads, std::uint64_t file_limit);

  // Holds a place while it lives; made, it waits until there is one.
  class Slot {
   public:
    explicit Slot(OpenFileBound* bound);  // Null: no bound.
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
