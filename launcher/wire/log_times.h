#ifndef LAUNCHER_WIRE_LOG_TIMES_H_
#define LAUNCHER_WIRE_LOG_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/file/unique_fd.h"

namespace launcher {

// An index of the growth of an attempt's output stream: it maps a time to an offset in the stream.
// The index is a file of small records with check values, in the order of their creation; at most
// one for each interval, which is one second at first. When the file is full, every second record
// is dropped and the interval doubled, so that the file never exceeds 64 KiB. Records are written
// without syncs: damaged, missing or unordered ones make a result less exact, but it never leaves
// out output. Plain types without dependencies, because the static shim links it. Not thread-safe.
class LogTimes {
 public:
  static constexpr std::size_t kMaxRecords = 4096;
  static constexpr std::int64_t kFirstIntervalUs = 1'000'000;

  // Continues an existing file; otherwise creates it with the first record.
  explicit LogTimes(std::string path) : path_(std::move(path)) {}
  LogTimes(const LogTimes&) = delete;
  LogTimes& operator=(const LogTimes&) = delete;

  // Records that the stream is about to grow at `offset`; everything before that was written before
  // `now_us` (wall time). Never waits for the disk. A record that cannot be written is dropped.
  void Note(std::int64_t now_us, std::uint64_t offset) {
    const std::int64_t since = now_us - last_us_;
    if (has_last_ && since < interval_us_ && -since < interval_us_) return;
    Add(now_us, offset);
  }
  // Records that the stream has ended at `offset`, regardless of the interval.
  void NoteEnd(std::int64_t now_us, std::uint64_t offset) {
    if (count_ > 0) Add(now_us, offset);
  }

  // Returns an offset after which everything lies that was written at `since_us` or later, and at
  // most one interval of earlier output. (If the clock was set back, the first such offset.)
  // Returns nullopt if there is no index at `path`.
  static std::optional<std::uint64_t> OffsetAt(const std::string& path, std::int64_t since_us);
  // A record: everything in the stream from `offset` on was written at `time_us` or later.
  struct Entry {
    std::int64_t time_us = 0;
    std::uint64_t offset = 0;
  };
  static constexpr std::size_t kRecordBytes = 16;
  // Returns all valid records in the order of the file; empty if there is no index at `path`.
  static std::vector<Entry> Read(const std::string& path);

 private:
  void Add(std::int64_t now_us, std::uint64_t offset);
  bool Open();
  void Thin();

  const std::string path_;
  runtime::UniqueFd file_;
  bool failed_ = false;    // The file could not be opened; it is not tried again.
  std::size_t count_ = 0;  // Records in the file.
  std::int64_t interval_us_ = kFirstIntervalUs;
  bool has_last_ = false;
  std::int64_t last_us_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_WIRE_LOG_TIMES_H_
