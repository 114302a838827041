#ifndef LAUNCHER_TESTING_TABLE_H_
#define LAUNCHER_TESTING_TABLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/held_ports.h"
#include "launcher/job_table.h"
#include "launcher/process_limit.h"
#include "launcher/resources.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "runtime/thread_pool.h"

namespace launcher {

// For tests: a JobTable with real shims in a folder of its own, its loop on a thread of its own,
// and waits that are woken by what the table announces. One thread calls it.
class TestingTable {
 public:
  // Uses (and leaves) `folder`, else makes one and removes it.
  explicit TestingTable(std::string folder = "");
  ~TestingTable();

  // What tasks share, of the launchers that come up from now on.
  void SetResources(std::vector<Resource> resources) { resources_ = std::move(resources); }
  // Limits of their tasks, as in JobTable::Options.
  void SetLimits(std::vector<ProcessLimit> limits) { limits_ = std::move(limits); }
  // Where the ports of their jobs are taken from.
  void SetPorts(std::vector<HeldPorts::Range> ranges) { port_ranges_ = std::move(ranges); }
  // How many ended jobs they keep.
  void SetKeepCount(std::size_t count) { keep_count_ = count; }
  // And for how long.
  void SetKeepFor(absl::Duration time) { keep_for_ = time; }
  // As in JobTable::Options; on the loop's thread.
  using OnBarrier = std::function<void(const JobTable::Options::BarrierLine&,
                                       std::function<void(std::string)> answer)>;
  void SetOnBarrier(OnBarrier on_barrier) { on_barrier_ = std::move(on_barrier); }
  // A launcher comes up; `fault` as in JobTable::Options.
  absl::Status Open(std::function<void(std::string_view)> fault = {});
  // It is gone; its tasks stay.
  void Close();
  // The same from a `fault`: it is gone after the event that is being handled, like a launcher
  // that is killed then.
  void CloseNext();
  bool AwaitClosed();

  // A shell script as a job.
  msg::JobSpecT Shell(const std::string& script) const;
  absl::StatusOr<msg::JobT> Launch(const msg::JobSpecT& spec, const std::string& request_id = "");
  std::vector<msg::JobT> List();
  absl::Status Stop(const std::string& job, absl::Duration grace);
  // Waits for it.
  absl::Status Remove(const std::string& job);
  // The job once `condition` holds; nothing after 20 s.
  std::optional<msg::JobT> Await(const std::string& job,
                                 const std::function<bool(const msg::JobT&)>& condition);
  std::optional<msg::JobT> AwaitEnd(const std::string& job);
  std::optional<msg::JobT> AwaitRunning(const std::string& job);
  // True once `path` holds `text`.
  bool AwaitInFile(const std::string& path, const std::string& text);
  // True once there is no such file.
  bool AwaitNoFile(const std::string& path);
  // Looks again and again; false after 20 s.
  bool AwaitTrue(const std::function<bool()>& condition);
  // Runs `body` on the loop's thread and waits for it.
  void OnLoop(const std::function<void()>& body);

  JobTable* table() { return table_.get(); }  // Use on the loop's thread.
  runtime::EventLoop* loop() { return loop_.get(); }
  const std::string& folder() const { return folder_; }
  std::string state_directory() const { return folder_ + "/state"; }
  // What was announced so far, with `from` as in JobTable::Options::on_lines.
  struct Announced {
    std::string job;
    std::uint64_t from = 0;
    msg::LogLinesT lines;
  };
  std::vector<Announced> Batches();
  // True once that line has been announced.
  bool AwaitLine(const std::string& line);
  std::vector<std::string> Lines();

 private:
  void RemoveCgroups();

  const bool owns_folder_;
  const std::string folder_;
  std::vector<Resource> resources_;
  std::vector<ProcessLimit> limits_;
  std::vector<HeldPorts::Range> port_ranges_;
  std::size_t keep_count_ = 1000;
  absl::Duration keep_for_ = absl::Hours(24);
  OnBarrier on_barrier_;
  std::unique_ptr<runtime::EventLoop> loop_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<runtime::Thread> thread_;
  std::unique_ptr<JobTable> table_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::vector<Announced> announced_ ABSL_GUARDED_BY(mutex_);
};

// Adds `count` tasks of a type to a spec.
msg::TaskGroupT& AddGroup(msg::JobSpecT* spec, const std::string& type, std::uint32_t count = 1);
// The task of that name; a test failure, and an empty one, if there is none.
const msg::TaskT& TaskOf(const msg::JobT& job, const std::string& name);

// Pid of the shim of an attempt's folder; 0 if none runs.
pid_t ShimOf(const std::string& state_directory, const msg::JobT& job, int attempt = 1);

}  // namespace launcher

#endif  // LAUNCHER_TESTING_TABLE_H_
