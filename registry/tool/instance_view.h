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

// The info files of one directory and the tools behind them, kept up to date by the kernel's
// notifications of every file change (inotify) and every end of a process (pidfd).
//
// TensorBoard's manager reads all files at each request and trusts them. Here a file is live only
// if our user owns it, its process runs as our user and began no later than the start time in the
// file, and that process (or one of its descendants) listens on its port. When a process is seen to
// end, its file is removed, which a killed process cannot do itself.
//
// Loop's thread only. Reads small local files, and blocks for them.
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
    std::string temporary_directory = {};  // Contains the info directory, which may come and go.
    uid_t uid = 0;                         // Our own uid.
    // Called from the loop after changes of entries.
    std::function<void()> changed = {};
  };
  explicit InstanceView(Options options);
  ~InstanceView();
  InstanceView(const InstanceView&) = delete;
  InstanceView& operator=(const InstanceView&) = delete;

  const std::string& path() const { return files_.path(); }  // Path of the info directory.
  // Returns the entries by file name, with every file change so far. The states are those of the
  // last change; see Check().
  const std::map<std::string, Entry>& Entries();
  // Checks the processes and ports of all entries, or of those with this cache key, again.
  void Check(const std::string* cache_key = nullptr);
  // Checks the entries and returns the live one of this tool (empty: TensorBoard) with this key and
  // the lowest port; null if no such tool is live.
  const Entry* FindLive(const std::string& cache_key, const std::string& tool = "");
  // Removes our user's files with this key whose process has ended, or is another one and does not
  // listen on the port either.
  void RemoveDead(const std::string& cache_key);

  // Sends a signal to the process of an entry; NotFound if it has ended.
  absl::Status Signal(const Entry& entry, int signal);

  std::size_t reads() const { return reads_; }  // Number of files read so far.

 private:
  struct Process {
    runtime::UniqueFd pidfd;
    runtime::EventLoop::WatchId watch = 0;
  };

  bool Open();
  void Close();
  // Returns false if no events are queued.
  bool ReadEvents();
  bool HasRoom(const std::string& name) const;
  void ReadAll();
  void TellChanged();
  // Requested at most once per change, by the first function that needs them.
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
  std::int64_t bytes_ = 0, foreign_bytes_ = 0;  // Total sizes of the entries' files.
  std::map<pid_t, Process> processes_;
  std::size_t reads_ = 0;
  bool warned_ = false;
};

}  // namespace registry

#endif  // REGISTRY_TOOL_INSTANCE_VIEW_H_
