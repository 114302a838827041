#ifndef TOOLS_YARD_EVENT_TIMELY_LINES_H_
#define TOOLS_YARD_EVENT_TIMELY_LINES_H_

#include <functional>

#include "absl/base/thread_annotations.h"
#include "bus/schema/launcher_generated.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "tools/yard/text/whole_lines.h"

namespace yard {

// WholeLines with a timeout: a thread passes on incomplete lines that have waited too long.
// Thread-safe.
class TimelyLines {
 public:
  // `take` as in WholeLines; `flush` is called after one or more lines. Calls are serialized.
  TimelyLines(WholeLines::Take take, std::function<void()> flush,
              runtime::Clock* clock = runtime::Clock::Real());
  ~TimelyLines();
  TimelyLines(const TimelyLines&) = delete;
  TimelyLines& operator=(const TimelyLines&) = delete;

  // Adds a part of the output; passes on the lines that it completes.
  void Add(const msg::LogsReplyT& part);
  // Passes on all incomplete lines.
  void Finish();

 private:
  void GiveInTime();

  const std::function<void()> flush_;
  runtime::Clock* const clock_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  WholeLines lines_ ABSL_GUARDED_BY(mutex_);
  runtime::Thread thread_;
};

}  // namespace yard

#endif  // TOOLS_YARD_EVENT_TIMELY_LINES_H_
