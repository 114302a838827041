#ifndef LAUNCHER_NODE_FILES_RUN_FILES_SENDER_H_
#define LAUNCHER_NODE_FILES_RUN_FILES_SENDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "launcher/node/words/file_words.h"
#include "runtime/event_loop.h"

namespace launcher {

// Copies the files that programs write into their run directories on a node to the launcher, except
// checkpoints, which are copied with their reports (checkpoint_relay.h). Each directory is scanned
// every few seconds:
//
// - An event file (`tfevents` in its name) only grows: new bytes are sent as they are written.
// - Another file is sent as a whole once it has not changed between two scans, and replaces the one
//   with its name.
//
// After the end of the attempt everything that is missing is sent. A file that cannot be sent is
// logged, and reported at the end: a symbolic link, a special file, a file beyond kMaxFiles, a file
// over kMaxBytes, a file with a name of the trainer's. No state survives a kill of this process:
// the launcher reports what it has. Use on the loop's thread; files are scanned and hashed on
// separate threads.
class RunFilesSender {
 public:
  static constexpr std::size_t kMaxFiles = 10'000;                    // In an attempt.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30;  // In a file.
  static constexpr std::size_t kMaxActive = 4;  // Attempts whose files are sent at the same time.
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    // Sends a part to the launcher. It may be lost: OnConnected() and a timer repeat it.
    std::function<void(const FilePart&)> send;
    absl::Duration look_every = absl::Seconds(3);
    absl::Duration ask_again = absl::Seconds(30);
    absl::Duration no_room_pause = absl::Seconds(1);
  };
  explicit RunFilesSender(Options options);
  // Waits some seconds for reads in progress.
  ~RunFilesSender();
  RunFilesSender(const RunFilesSender&) = delete;
  RunFilesSender& operator=(const RunFilesSender&) = delete;

  void Add(const std::string& attempt, const std::string& run_directory);
  // Called when the program has ended. Calls `done` once, after this call has returned, when the
  // launcher has all files, or `problem` names one that it does not have, and why. Without delay if
  // the attempt is unknown.
  void Finish(const std::string& attempt, std::function<void(const std::string& problem)> done);
  // Forgets the attempt; its `done` is no longer called.
  void Remove(const std::string& attempt);

  void OnConnected();
  void OnAnswer(const FileAnswer& answer);

 private:
  class Impl;

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_RUN_FILES_SENDER_H_
