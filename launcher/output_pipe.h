#ifndef LAUNCHER_OUTPUT_PIPE_H_
#define LAUNCHER_OUTPUT_PIPE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/poller.h"
#include "runtime/unique_fd.h"

namespace launcher {

// Appends everything a task writes to one of its output streams, byte for byte, to a file. The
// pipe is always drained, so the task never waits: what a full disk refuses, or what would take
// the file past its limit, is dropped and counted. On the poller's thread.
class OutputPipe {
 public:
  // `poller` outlives the pipe. Call Open() once, before anything else.
  explicit OutputPipe(Poller* poller) : poller_(poller) {}
  ~OutputPipe() { Close(); }
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  // Opens or makes the file, which this pipe grows to at most `limit` bytes (0: no limit), with
  // what is in it already. `changed` runs after each growth and at the end of the stream. False,
  // with `error` set, if the file or the pipe cannot be made.
  bool Open(const std::string& path, std::uint64_t limit, std::function<void()> changed,
            std::string* error);
  // The end for the task. The caller drops it after the spawn, else the stream never ends.
  runtime::UniqueFd TakeWriteEnd() { return std::move(write_end_); }

  // Reads what is in the pipe now without waiting for more.
  void Drain();
  void Close();

  bool at_end() const { return !read_end_.valid(); }
  std::uint64_t begin() const { return begin_; }            // Size of the file before this task.
  std::uint64_t end() const { return end_; }                // Its size now.
  std::uint64_t dropped() const { return dropped_; }        // Bytes that could not be written.
  std::uint64_t over_limit() const { return over_limit_; }  // Bytes dropped for the limit.

 private:
  // False when there is nothing to read now, or ever.
  bool ReadOnce();
  // How much of `size` more bytes the limit lets into the file.
  std::size_t Room(std::size_t size) const;
  void Append(const char* data, std::size_t size);

  Poller* const poller_;
  std::function<void()> changed_;
  runtime::UniqueFd file_, read_end_, write_end_;
  std::uint64_t limit_ = 0;
  std::uint64_t begin_ = 0, end_ = 0, dropped_ = 0, over_limit_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_OUTPUT_PIPE_H_
