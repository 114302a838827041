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

// A registry and a launcher in a folder of their own, for one measurement. Not thread safe.
class LauncherYard {
 public:
  static absl::StatusOr<std::unique_ptr<LauncherYard>> Start();
  // Leaves no process and no file behind.
  ~LauncherYard();
  LauncherYard(const LauncherYard&) = delete;
  LauncherYard& operator=(const LauncherYard&) = delete;

  // One more service of this yard ("trainer/trainer"); its pid.
  absl::StatusOr<pid_t> StartService(const std::string& label_path,
                                     std::vector<std::string> arguments);
  // Ends it with SIGKILL; it is gone then.
  absl::Status KillService(pid_t pid);
  // All that run.
  std::vector<pid_t> Services() const;

  bus::Client& client() { return *client_; }
  bus::Node* node() { return node_.get(); }
  const std::string& directory() const { return directory_; }
  pid_t launcher() const { return launcher_->pid(); }
  std::string StampPath() const { return directory_ + "/stamps"; }
  // The pids of the shims that run.
  std::vector<pid_t> Shims() const;

  // `count` tasks that run `argv`, in the environment of this process.
  static msg::LaunchRequestT JobOf(const std::vector<std::string>& argv, int count);
  // The id of the job.
  absl::StatusOr<std::string> Launch(const msg::LaunchRequestT& request);
  // `count` jobs alike, all calls under way together. How long each took.
  absl::StatusOr<std::vector<absl::Duration>> LaunchTogether(const msg::LaunchRequestT& request,
                                                             int count);
  absl::Status Stop(const std::string& job);
  // Until so many tasks are in this state.
  absl::Status AwaitTasks(int count, msg::TaskState state);

  // Kills the launcher and starts another one, which takes up what the first one has left: how
  // long that took, from its exec to the last task, and from when it had opened its state.
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
