#ifndef REGISTRY_TOOL_INSTANCE_VIEW_H_
#define REGISTRY_TOOL_INSTANCE_VIEW_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "registry/info/info_directory.h"
#include "registry/tool/tool_probe.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"

namespace registry {

// The info files of one directory and the tools behind them, as they are now: the kernel tells of
// every change of a file (inotify) and of the end of every process (pidfd).
//
// TensorBoard's manager reads all files at each question and believes them. Here a file counts as
// live only if it belongs to our user and its process runs as our user, began before the file says
// that the tool started, and it (or a process that it has started) listens on its port. The file of
// a process that was seen to end is removed: what was killed cannot do it itself.
//
// On the loop's thread. Reads small local files, and blocks for them.
class InstanceView {
 public:
  enum class State { kLive, kDead, kForeign };
  struct Entry {
    InfoFile file;
    State state = State::kDead;
  };
  struct Options {
    runtime::EventLoop* loop = nullptr;
    ToolProbe* probe = nullptr;
    std::string temporary_directory = {};  // The info directory in it may come and go.
    uid_t uid = 0;                         // Ours.
    // After changes of entries, from the loop.
    std::function<void()> changed = {};
  };
  explicit InstanceView(Options options);
  ~InstanceView();
  InstanceView(const InstanceView&) = delete;
  InstanceView& operator=(const InstanceView&) = delete;

  const std::string& path() const { return files_.path(); }  // Path of the info directory.
  // By file name, with every change of a file until now. The states are those of the last change;
  // see Check().
  const std::map<std::string, Entry>& Entries();
  // Looks at the processes and ports of all entries, or of those with this cache key, again.
  void Check(const std::string* cache_key = nullptr);
  // The live entry of this tool (empty: TensorBoard) with this key and the lowest port, just
  // checked; null if no such tool is live.
  const Entry* FindLive(const std::string& cache_key, const std::string& tool = "");
  // Removes the files of our user with this key whose process is gone, or is another one and does
  // not listen on the port either.
  void RemoveDead(const std::string& cache_key);

  // Sends a signal to the process of an entry; NotFound if it has ended.
  absl::Status Signal(const Entry& entry, int signal);

  std::size_t reads() const { return reads_; }  // Files, since the beginning.

 private:
  struct Process {
    runtime::UniqueFd pidfd;
    runtime::EventLoop::WatchId watch = 0;
  };

  bool Open();
  void Close();
  // False if there is nothing to read.
  bool ReadEvents();
  bool HasRoom(const std::string& name) const;
  void ReadAll();
  void TellChanged();
  // Asked for once, by the first who needs them.
  using Listeners = std::optional<ToolProbe::Listeners>;
  void ReadOne(const std::string& name, Listeners* listeners);
  void Put(const std::string& name, InfoFile file, Listeners* listeners);
  void Drop(const std::string& name);
  void Update(Entry* entry, Listeners* listeners);
  void WatchProcess(pid_t pid);
  void UnwatchProcess(pid_t pid);
  void ProcessEnded(pid_t pid);
  void RemoveFile(const std::string& name, const InfoFile& file);
  bool ProcessFits(const InstanceInfo& info);

  const Options options_;
  const InfoDirectory files_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  runtime::UniqueFd directory_, inotify_;
  runtime::EventLoop::WatchId watch_ = 0;
  std::map<std::string, Entry> entries_;
  std::int64_t bytes_ = 0, foreign_bytes_ = 0;  // Sizes of the files of the entries.
  std::map<pid_t, Process> processes_;
  std::size_t reads_ = 0;
  bool warned_ = false;
};

}  // namespace registry

#endif  // REGISTRY_TOOL_INSTANCE_VIEW_H_
