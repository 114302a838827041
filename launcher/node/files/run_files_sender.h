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

// Brings the files that programs write into their run directories on a node to the launcher, but
// for checkpoints, which travel with their reports (checkpoint_relay.h). Each directory is looked
// at every few seconds:
//
// - An event file (`tfevents` in its name) only grows: the new bytes are sent as they come.
// - Another file is sent whole once it has not changed from one look to the next, and takes the
//   place of the one with its name.
//
// When the attempt has ended all that is missing is sent. A file that cannot be sent is logged, and
// told at the end: a symbolic link, a special file, more than kMaxFiles, a file over kMaxBytes, a
// name of the trainer's. Nothing is kept over a kill of this process: the launcher says what it
// has. On the loop's thread; files are looked for and hashed on threads.
class RunFilesSender {
 public:
  static constexpr std::size_t kMaxFiles = 10'000;                    // In an attempt.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30;  // In a file.
  static constexpr std::size_t kMaxActive = 4;  // Attempts whose files are sent at the same time.
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    // Says it to the launcher. It may be lost: OnConnected() says it again, and a timer does.
    std::function<void(const FilePart&)> send;
    absl::Duration look_every = absl::Seconds(3);
    absl::Duration ask_again = absl::Seconds(30);
    absl::Duration no_room_pause = absl::Seconds(1);
  };
  explicit RunFilesSender(Options options);
  // Waits some seconds for what is being read.
  ~RunFilesSender();
  RunFilesSender(const RunFilesSender&) = delete;
  RunFilesSender& operator=(const RunFilesSender&) = delete;

  void Add(const std::string& attempt, const std::string& run_directory);
  // The program writes no more. Calls `done` once, never from within this call: all files are at
  // the launcher, or `problem` says which one is not, and why. At once if the attempt is unknown.
  void Finish(const std::string& attempt, std::function<void(const std::string& problem)> done);
  // Its `done` is not called any more.
  void Remove(const std::string& attempt);

  void OnConnected();
  void OnAnswer(const FileAnswer& answer);

 private:
  class Impl;

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_RUN_FILES_SENDER_H_
