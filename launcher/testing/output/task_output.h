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

// One output stream of a child: a pipe that is read on the loop and passed on as whole lines with
// the task's prefix. (The original has one pipe for both streams and a thread for each child, so
// that lines may be interleaved.) Use on the loop's thread.
class TaskOutput {
 public:
  // `lines` gets one or more lines; `at_end` runs once everything was passed on.
  TaskOutput(runtime::EventLoop* loop, const std::string& task,
             std::function<void(std::string_view lines)> lines, std::function<void()> at_end);
  ~TaskOutput() { loop_->Unwatch(watch_); }  // Calls no callback.
  TaskOutput(const TaskOutput&) = delete;
  TaskOutput& operator=(const TaskOutput&) = delete;

  // Creates the pipe. Call it once, before all other functions.
  absl::Status Open();
  // Returns the child's end. Close it after the child was started; otherwise the stream never ends.
  runtime::UniqueFd TakeWriteEnd() { return std::move(write_end_); }
  // OpenFileName() of the pipe, by which processes that have it open are recognised.
  std::string name() const;

  // Reads and passes on the bytes that are in the pipe now, up to a limit.
  void Drain();
  // Ends the stream, even if a process still writes to it.
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
