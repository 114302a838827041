#ifndef LAUNCHER_TESTING_OUTPUT_TASK_OUTPUT_H_
#define LAUNCHER_TESTING_OUTPUT_TASK_OUTPUT_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "launcher/testing/output/line_prefixer.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"

namespace launcher::testing {

// One output stream of a child: a pipe that is read on the loop, and given on as whole lines with
// the task's prefix. The original has one pipe for both streams and a thread for each child, whose
// lines may cut each other. On the loop's thread.
class TaskOutput {
 public:
  // `lines` gets one line or many; `at_end` runs once everything was given.
  TaskOutput(runtime::EventLoop* loop, const std::string& task,
             std::function<void(std::string_view lines)> lines, std::function<void()> at_end);
  ~TaskOutput() { loop_->Unwatch(watch_); }  // Without a word.
  TaskOutput(const TaskOutput&) = delete;
  TaskOutput& operator=(const TaskOutput&) = delete;

  // Once, before anything else.
  absl::Status Open();
  // The child's end, to be dropped after the spawn: else there is no end.
  runtime::UniqueFd TakeWriteEnd() { return std::move(write_end_); }
  // The name that every process shows that has the pipe open (OpenFileName()).
  std::string name() const;

  // Gives what is there now, up to a bound.
  void Drain();
  // The end, whoever still writes.
  void Close();
  bool at_end() const { return !read_end_.valid(); }

 private:
  void Read();
  void Finish();

  runtime::EventLoop* const loop_;
  const std::function<void(std::string_view)> lines_;
  const std::function<void()> at_end_;
  LinePrefixer prefixer_;
  std::string complete_;
  runtime::UniqueFd read_end_, write_end_;
  runtime::EventLoop::WatchId watch_ = 0;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OUTPUT_TASK_OUTPUT_H_
