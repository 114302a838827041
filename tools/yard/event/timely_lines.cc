#include "tools/yard/event/timely_lines.h"

#include <utility>

#include "absl/time/time.h"

namespace yard {

using runtime::MutexLock;

TimelyLines::TimelyLines(WholeLines::Take take, std::function<void()> flush, runtime::Clock* clock)
    : flush_(std::move(flush)),
      clock_(clock),
      lines_(std::move(take), clock),
      thread_("yard-lines", [this] { GiveInTime(); }) {}

TimelyLines::~TimelyLines() {
  {
    MutexLock lock(mutex_);
    over_ = true;
    changed_.SignalAll();
  }
  (void)thread_.Join();
}

void TimelyLines::Add(const msg::LogsReplyT& part) {
  MutexLock lock(mutex_);
  const absl::Duration before = lines_.NextDue();
  lines_.Add(part);
  flush_();
  if (lines_.NextDue() < before) changed_.SignalAll();
}

void TimelyLines::Finish() {
  MutexLock lock(mutex_);
  lines_.Finish();
  flush_();
}

void TimelyLines::GiveInTime() {
  MutexLock lock(mutex_);
  while (!over_) {
    if (lines_.GiveDue()) flush_();
    clock_->WaitUntil(changed_, mutex_, lines_.NextDue());
  }
}

}  // namespace yard
