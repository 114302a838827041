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

// The launcher's side of the proof that a node sees a directory of this host: a file with a random
// name and content in it (NodeFiles), for as long as the node may look. Files are touched on
// threads: a shared file system that does not answer stops the attempt that needs it, and nobody
// else. On the loop's thread.
class SharedMarks {
 public:
  struct Plan {
    std::string run = {}, work = {};  // Paths of marks; empty: that directory gets none.
    std::string mark = {};            // Their content.
    std::string config = {};          // A file that is read as well; empty: none.
  };
  struct Written {
    bool run = false, work = false;  // These marks are there.
    std::string config = {};         // Empty if it cannot be read.
  };
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    // For a file system that does not answer.
    absl::Duration limit = absl::Seconds(30);
    // Writes one mark, on a thread; false if it cannot. Empty: a file is written.
    std::function<bool(const std::string& path, const std::string& mark)> write = {};
  };
  // An error names the directories that have not answered.
  using Done = std::function<void(absl::StatusOr<Written>)>;

  explicit SharedMarks(Options options);
  // Waits for its thread, two seconds at most. Marks that are there stay for the next launcher.
  ~SharedMarks();
  SharedMarks(const SharedMarks&) = delete;
  SharedMarks& operator=(const SharedMarks&) = delete;

  // Calls `done` once, never from within this call, unless Remove() is called or this is destroyed
  // before. Not while an earlier call has not ended.
  void Write(const Plan& plan, Done done);
  // True after Write() until Remove().
  bool is_wanted() const { return wanted_ != 0; }
  // Removes the marks of a plan, also one that an earlier launcher has written. Calls `done`, if it
  // is not empty, once, never from within this call: when they are gone, or the file system has not
  // answered for two seconds.
  void Remove(const Plan& plan, std::function<void()> done);

 private:
  void Answer(absl::StatusOr<Written> written);
  // Begins `job` after those that wait. It returns false if there is nothing to do any more.
  void Queue(std::function<bool()> job);
  void Next();
  void Run(std::function<void()> body);

  Options options_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);

  std::uint64_t wanted_ = 0, last_ = 0;  // Numbers of calls of Write(); 0: none.
  bool is_busy_ = false;
  Done done_;
  runtime::Timer timer_;  // The limit of a call of Write().
  std::deque<runtime::Timer> removal_timers_;
  std::vector<std::function<bool()>> waiting_;
  std::unique_ptr<runtime::Thread> thread_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_SHARED_MARKS_H_
