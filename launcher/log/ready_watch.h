#ifndef LAUNCHER_LOG_READY_WATCH_H_
#define LAUNCHER_LOG_READY_WATCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "launcher/job/ready_pattern.h"
#include "launcher/log/follow_pace.h"
#include "launcher/log/line_reader.h"

namespace launcher {

// Searches all of an attempt's output, from its first byte, for the line that marks the task as
// ready. Unlike the feed of announced lines (line_feed.h) it skips nothing, however far it lags
// behind the logs and whichever launcher has read them before. Output that rotation removed before
// it was read cannot be searched; a line longer than 64 KiB is searched in pieces.
//
// Reads no faster than the pace, which all watches of a launcher share, allows: a line in a burst
// is found a moment later. Use on the loop's thread; never blocks.
class ReadyWatch {
 public:
  // Maximum number of unread bytes that are searched at the end of the attempt, regardless of the
  // pace.
  static constexpr std::uint64_t kMaxAtEnd = 16 << 20;

  // `out` and `errors` must be at the attempt's first bytes. `found` is called at most once, from
  // Advance(), Finish() or the pace, and must not destroy the watch. `pace` is not owned and
  // outlives the watch.
  ReadyWatch(FollowPace* pace, std::unique_ptr<ReadyPattern> pattern, LineReader out,
             LineReader errors, std::function<void()> found);
  ~ReadyWatch() { *alive_ = false; }
  ReadyWatch(const ReadyWatch&) = delete;
  ReadyWatch& operator=(const ReadyWatch&) = delete;

  // Sets the present lengths of the streams, which never decrease.
  void Advance(std::uint64_t out_end, std::uint64_t errors_end);
  // Sets the final lengths, so that a last line without a newline counts, and searches the rest at
  // once, at most kMaxAtEnd bytes of it. Must be the last call.
  void Finish(std::uint64_t out_end, std::uint64_t errors_end);

 private:
  struct Stream {
    LineReader reader;
    std::uint64_t end = 0;
  };

  void SetEnds(std::uint64_t out_end, std::uint64_t errors_end);
  std::uint64_t BytesRead() const;
  bool LookOn(bool rest);
  void Look();
  void Tell();

  FollowPace* const pace_;
  const std::function<void()> found_;
  std::unique_ptr<ReadyPattern> pattern_;
  std::vector<Stream> streams_;  // Empty once the line is found.
  bool is_found_ = false;
  bool waits_ = false;  // Waits for the pace.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace launcher

#endif  // LAUNCHER_LOG_READY_WATCH_H_
