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

// Appends everything that a task writes to one of its output streams, byte for byte, to a log file
// or a series of rotated files (log_files.h). The pipe is always drained, so the task never blocks:
// bytes that a full disk rejects or that exceed the stream's limit are dropped and counted. Use on
// the poller's thread.
class OutputPipe {
 public:
  // Limits of the log.
  struct Bounds {
    // Maximum size of the stream in bytes, including the output of earlier attempts; 0 for no
    // limit.
    std::uint64_t limit = 0;
    // The file is rotated, after the end of a line, before it exceeds this many bytes. A longer
    // line gets a file of its own, but no file exceeds twice this size. 0 for no rotation.
    std::uint64_t rotate_bytes = 0;
    // Number of rotated files to keep, at least 1; older ones are removed.
    std::uint64_t rotate_files = 1;
    // No other program has ever written this log, so that without rotation there are no rotated
    // files.
    bool is_own = false;
  };
  // `poller` is not owned and outlives the pipe. Call Open() once, before the functions after it.
  explicit OutputPipe(Poller* poller) : poller_(poller) {}
  ~OutputPipe() { Close(); }
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  // Creates the pipe in advance; Open() does so otherwise. Returns false, with `error` set, if that
  // fails.
  bool MakePipe(std::string* error);
  // Opens the file for appending, and creates it if it is missing. Calls `changed` whenever the
  // stream has grown, and at its end. Returns false, with `error` set, if the file cannot be opened
  // or the pipe cannot be created.
  bool Open(const std::string& path, const Bounds& bounds, std::function<void()> changed,
            std::string* error);
  // From now on records in an index at `path` when the stream has grown (log_times.h).
  void KeepTimes(const std::string& path) { times_.emplace(path); }
  // Returns the task's end of the pipe. Close it after the task was started; otherwise the stream
  // never ends.
  runtime::UniqueFd TakeWriteEnd() { return std::move(write_end_); }

  // Reads what is in the pipe now, without waiting for more.
  void Drain();
  // Ends the stream, even if a process still writes to the pipe.
  void Close();

  // When the last burst of output began, after a silence, by the wall clock; 0 if there was no
  // output.
  std::int64_t spoke_us() const { return spoke_us_; }
  bool at_end() const { return !read_end_.valid(); }
  // OpenFileName() of the pipe, by which processes that have it open can be recognised.
  std::string name() const;
  // Stream offset at which this attempt's output begins.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }                // Present end of the whole stream.
  std::uint64_t dropped() const { return dropped_; }        // Bytes that the disk rejected.
  std::uint64_t over_limit() const { return over_limit_; }  // Bytes beyond the limit.
  // errno of a failed rotation, after which the file keeps growing; 0 if none failed.
  int rotation_error() const { return rotation_error_; }

 private:
  void OnReady(std::uint32_t events);
  // Waits a fraction of a millisecond, if writes are small and frequent, to read several at once.
  void Gather();
  // Returns false if there is nothing to read now, or the stream has ended.
  bool ReadOnce();
  bool OpenFile(const std::string& path);
  // Returns how many of `size` further bytes the limit lets into the stream.
  std::size_t Room(std::size_t size) const;
  // Returns how many of `size` further bytes go into the current file; 0 if it must be rotated
  // first.
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
  std::size_t taken_ = 0;  // Bytes that the latest OnReady() has read.
  std::int64_t ready_ns_ = 0;
  bool gathers_ = false;
  int without_gathering_ = 0, next_without_ = 1;
  std::int64_t spoke_us_ = 0, read_us_ = 0;
  std::uint64_t begin_ = 0, end_ = 0, dropped_ = 0, over_limit_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_SHIM_OUTPUT_PIPE_H_
