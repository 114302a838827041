#ifndef LAUNCHER_SHIM_OUTPUT_PIPE_H_
#define LAUNCHER_SHIM_OUTPUT_PIPE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "launcher/shim/poller.h"
#include "launcher/wire/log_times.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// Appends everything a task writes to one of its output streams, byte for byte, to a file, or to a
// row of files (log_files.h). The pipe is always drained, so the task never waits: what a full disk
// refuses, or what would take the stream past its limit, is dropped and counted. On the poller's
// thread.
class OutputPipe {
 public:
  struct Bounds {
    // The stream grows to at most so many bytes, with those of earlier attempts; 0: no limit.
    std::uint64_t limit = 0;
    // Before it grows past so many bytes the file is rotated, behind a line's end. A line that is
    // longer goes on alone to its end, but no file grows past twice this. 0: never.
    std::uint64_t rotate_bytes = 0;
    // Rotated files that are kept, at least 1; older ones are removed.
    std::uint64_t rotate_files = 1;
    // No other program has ever written this log: without rotation it has no rotated files.
    bool is_own = false;
  };
  // `poller` outlives the pipe. Call Open() once, before what follows it.
  explicit OutputPipe(Poller* poller) : poller_(poller) {}
  ~OutputPipe() { Close(); }
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  // Open() does it, if it has not been done before. False, with `error` set, if it cannot be made.
  bool MakePipe(std::string* error);
  // Opens or makes the file; what is in it already stays. `changed` runs after each growth and at
  // the end of the stream. False, with `error` set, if the file or the pipe cannot be made.
  bool Open(const std::string& path, const Bounds& bounds, std::function<void()> changed,
            std::string* error);
  // From now on notes in an index at `path` when the stream has grown (log_times.h).
  void KeepTimes(const std::string& path) { times_.emplace(path); }
  // The end for the task. The caller drops it after the spawn, else the stream never ends.
  runtime::UniqueFd TakeWriteEnd() { return std::move(write_end_); }

  // Reads what is in the pipe now without waiting for more.
  void Drain();
  void Close();

  // When what came last began to come, after a silence; by our clock. 0: nothing came.
  std::int64_t spoke_us() const { return spoke_us_; }
  bool at_end() const { return !read_end_.valid(); }
  // OpenFileName() of the pipe; everybody who has it open shows the same.
  std::string name() const;
  std::uint64_t begin() const { return begin_; }            // Begin of the task's part in it.
  std::uint64_t end() const { return end_; }                // End of the whole stream, now.
  std::uint64_t dropped() const { return dropped_; }        // Bytes that could not be written.
  std::uint64_t over_limit() const { return over_limit_; }  // Bytes dropped for the limit.
  // errno of the rotation that failed; the file then grows on. 0: none did.
  int rotation_error() const { return rotation_error_; }

 private:
  void OnReady(std::uint32_t events);
  // Lets frequent small writes come together, for a fraction of a millisecond.
  void Gather();
  // False when there is nothing to read now, or ever.
  bool ReadOnce();
  bool OpenFile(const std::string& path);
  // How much of `size` more bytes the limit lets into the stream.
  std::size_t Room(std::size_t size) const;
  // How much of `size` more bytes goes into the current file; 0: it is to be rotated first.
  std::size_t Fitting(const char* data, std::size_t size) const;
  void Append(const char* data, std::size_t size);
  bool Write(const char* data, std::size_t size);
  void Rotate();
  void RemoveOldSegments();

  Poller* const poller_;
  std::function<void()> changed_;
  runtime::UniqueFd file_, read_end_, write_end_;
  std::string path_;
  Bounds bounds_;
  std::deque<std::string> segments_;  // Paths of the rotated files, oldest first.
  std::uint64_t file_begin_ = 0;      // Offset of the current file's first byte.
  bool at_line_end_ = true;           // The current file ends with a newline, or is empty.
  int rotation_error_ = 0;
  std::optional<LogTimes> times_;
  std::size_t taken_ = 0;  // Bytes, when it was ready last.
  std::int64_t ready_ns_ = 0;
  bool gathers_ = false;
  int without_gathering_ = 0, next_without_ = 1;
  std::int64_t spoke_us_ = 0, read_us_ = 0;
  std::uint64_t begin_ = 0, end_ = 0, dropped_ = 0, over_limit_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_SHIM_OUTPUT_PIPE_H_
