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

// When an output stream of an attempt has grown: an index beside it, from a time to a place in the
// stream. A file of small records, each with a check, in the order they were made; at most one for
// each interval, which begins as a second. When the file is full every second record is dropped and
// the interval doubled, so that it never is larger than 64 KiB. It is written as it comes: what is
// damaged, missing or out of order makes an answer less exact, never one that leaves something out.
// Plain types and no dependencies, because the static shim links it; one thread.
class LogTimes {
 public:
  static constexpr std::size_t kMaxRecords = 4096;
  static constexpr std::int64_t kFirstIntervalUs = 1'000'000;

  // Goes on with what is in the file. Makes it with the first record only.
  explicit LogTimes(std::string path) : path_(std::move(path)) {}
  LogTimes(const LogTimes&) = delete;
  LogTimes& operator=(const LogTimes&) = delete;

  // The stream is about to grow at `offset`; everything in front of that was written before
  // `now_us` (wall time). Never waits for the disk. A record that cannot be written is left out.
  void Note(std::int64_t now_us, std::uint64_t offset) {
    const std::int64_t since = now_us - last_us_;
    if (has_last_ && since < interval_us_ && -since < interval_us_) return;
    Add(now_us, offset);
  }
  // The stream has ended at `offset`: noted in any case.
  void NoteEnd(std::int64_t now_us, std::uint64_t offset) {
    if (count_ > 0) Add(now_us, offset);
  }

  // A place in the stream behind which is everything that was written at `since_us` or later, and
  // of what was written earlier no more than that of an interval. (Where the clock was set back, it
  // is the first such place.) Nothing if there is no index at `path`.
  static std::optional<std::uint64_t> OffsetAt(const std::string& path, std::int64_t since_us);
  // Everything in the stream from `offset` on was written at `time_us` or later.
  struct Entry {
    std::int64_t time_us = 0;
    std::uint64_t offset = 0;
  };
  static constexpr std::size_t kRecordBytes = 16;
  // All records that are whole, as they stand in the file; empty if there is no index at `path`.
  static std::vector<Entry> Read(const std::string& path);

 private:
  void Add(std::int64_t now_us, std::uint64_t offset);
  bool Open();
  void Thin();

  const std::string path_;
  runtime::UniqueFd file_;
  bool failed_ = false;    // To open; it is not tried again.
  std::size_t count_ = 0;  // Records in the file.
  std::int64_t interval_us_ = kFirstIntervalUs;
  bool has_last_ = false;
  std::int64_t last_us_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_WIRE_LOG_TIMES_H_
