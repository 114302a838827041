#ifndef LAUNCHER_NODE_FILES_SHARED_MARKS_H_
#define LAUNCHER_NODE_FILES_SHARED_MARKS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/node/files/way_back.h"
#include "runtime/event_loop.h"
#include "runtime/thread.h"
#include "runtime/timer.h"

namespace launcher {

// The launcher's side of the test whether a node sees a directory of this host: a file with a
// random name and content in it (a mark, see NodeFiles), for as long as the node may look for it.
// Files are accessed on separate threads: a shared file system that does not answer blocks only the
// attempt that needs it. Use on the loop's thread.
class SharedMarks {
 public:
  // The marks to write for one attempt.
  struct Plan {
    std::string run = {}, work = {};  // Paths of the marks; empty for a directory without a mark.
    std::string mark = {};            // Content of the marks.
    std::string config = {};          // A file to read as well; empty for no file.
  };
  // The result of Write().
  struct Written {
    bool run = false, work = false;  // True for a mark that was written.
    std::string config = {};         // Content of Plan::config; empty if it cannot be read.
  };
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    // Time limit for a file system that does not answer.
    absl::Duration limit = absl::Seconds(30);
    // Writes one mark on a thread; returns false if that fails. By default it writes a file.
    std::function<bool(const std::string& path, const std::string& mark)> write = {};
  };
  // Gets the result; an error names the directories that have not answered.
  using Done = std::function<void(absl::StatusOr<Written>)>;

  explicit SharedMarks(Options options);
  // Waits at most two seconds for its thread. Existing marks remain for the next launcher.
  ~SharedMarks();
  SharedMarks(const SharedMarks&) = delete;
  SharedMarks& operator=(const SharedMarks&) = delete;

  // Writes the marks. Calls `done` once, after this call has returned, unless Remove() is called or
  // this object is destroyed first. Must not be called while an earlier Write() is unfinished.
  void Write(const Plan& plan, Done done);
  // Returns true after Write() until Remove().
  bool is_wanted() const { return wanted_ != 0; }
  // Removes the marks of a plan, which may be of an earlier launcher. Calls `done`, unless it is
  // empty, once, after this call has returned: when the marks are removed, or the file system has
  // not answered for two seconds.
  void Remove(const Plan& plan, std::function<void()> done);

 private:
  void Answer(absl::StatusOr<Written> written);
  // Queues a job. It returns false if it has nothing to do any more.
  void Queue(std::function<bool()> job);
  void Next();
  void Run(std::function<void()> body);

  Options options_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);

  // Numbers of calls of Write(): the one whose marks are wanted (0 for none), and the last.
  std::uint64_t wanted_ = 0, last_ = 0;
  bool is_busy_ = false;
  Done done_;
  runtime::Timer timer_;  // The time limit of Write().
  std::deque<runtime::Timer> removal_timers_;
  std::vector<std::function<bool()>> waiting_;
  std::unique_ptr<runtime::Thread> thread_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_SHARED_MARKS_H_
