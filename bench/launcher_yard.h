#ifndef BENCH_LAUNCHER_YARD_H_
#define BENCH_LAUNCHER_YARD_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/schema/launcher_methods.h"
#include "bus/thread/node.h"
#include "runtime/file/locations.h"
#include "runtime/process/subprocess.h"

namespace bench {

// A registry and a launcher in a temporary folder, for one measurement. Not thread-safe.
class LauncherYard {
 public:
  static absl::StatusOr<std::unique_ptr<LauncherYard>> Start();
  // Leaves no process and no file behind.
  ~LauncherYard();
  LauncherYard(const LauncherYard&) = delete;
  LauncherYard& operator=(const LauncherYard&) = delete;

  // Starts another service of this yard ("trainer/trainer") and returns its pid.
  absl::StatusOr<pid_t> StartService(const std::string& label_path,
                                     std::vector<std::string> arguments);
  // Kills the service with SIGKILL, and returns once it is gone.
  absl::Status KillService(pid_t pid);
  // Returns the pids of all running services.
  std::vector<pid_t> Services() const;

  bus::Client& client() { return *client_; }
  bus::Node* node() { return node_.get(); }
  const std::string& directory() const { return directory_; }
  pid_t launcher() const { return launcher_->pid(); }
  std::string StampPath() const { return directory_ + "/stamps"; }
  // Returns the pids of the running shims.
  std::vector<pid_t> Shims() const;

  // Returns a request for `count` tasks that run `argv` in the environment of this process.
  static msg::LaunchRequestT JobOf(const std::vector<std::string>& argv, int count);
  // Launches a job and returns its id.
  absl::StatusOr<std::string> Launch(const msg::LaunchRequestT& request);
  // Launches `count` equal jobs with all calls in flight together. Returns the duration of each
  // call.
  absl::StatusOr<std::vector<absl::Duration>> LaunchTogether(const msg::LaunchRequestT& request,
                                                             int count);
  absl::Status Stop(const std::string& job);
  // Waits until `count` tasks are in this state.
  absl::Status AwaitTasks(int count, msg::TaskState state);

  // Kills the launcher and starts another one, which takes over the tasks of the first. Returns how
  // long that took from its exec, and from when it had opened its state, to the last task.
  struct TakenUp {
    absl::Duration since_exec, since_open;
  };
  absl::StatusOr<TakenUp> ReplaceLauncher(int tasks);

 private:
  explicit LauncherYard(std::string directory);
  absl::StatusOr<std::unique_ptr<runtime::Subprocess>> Run(const std::string& label_path,
                                                           std::vector<std::string> arguments);
  absl::Status StartAll();
  void StopAll();

  const std::string directory_;
  const runtime::Locations locations_;
  std::unique_ptr<runtime::Subprocess> registry_, launcher_;
  std::vector<std::unique_ptr<runtime::Subprocess>> others_;
  std::unique_ptr<bus::Node> node_;
  std::unique_ptr<bus::Client> client_;
};

}  // namespace bench

#endif  // BENCH_LAUNCHER_YARD_H_
