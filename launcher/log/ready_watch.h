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

// Looks for the line that says that a task is ready in all of an attempt's output, from its first
// byte on: unlike the feed of lines that are announced (line_feed.h) it leaves nothing out, however
// far the logs are ahead and whichever launcher has read them before. Output that was rotated away
// and removed before it was read cannot be looked at; a line longer than 64 KiB is looked at in
// pieces.
//
// Not more is read than the pace allows, which all watches of a launcher share: a line in a burst
// is found a moment later. On the loop's thread; never waits.
class ReadyWatch {
 public:
  // At the end of the attempt, whatever the pace: of what was not looked at yet, in bytes.
  static constexpr std::uint64_t kMaxAtEnd = 16 << 20;

  // The readers stand at the attempt's first bytes. `found` is called once at most, from Advance(),
  // Finish() or the pace, and must not destroy the watch. `pace` is not owned and outlives it.
  ReadyWatch(FollowPace* pace, std::unique_ptr<ReadyPattern> pattern, LineReader out,
             LineReader errors, std::function<void()> found);
  ~ReadyWatch() { *alive_ = false; }
  ReadyWatch(const ReadyWatch&) = delete;
  ReadyWatch& operator=(const ReadyWatch&) = delete;

  // So long are the streams now; that never goes back.
  void Advance(std::uint64_t out_end, std::uint64_t errors_end);
  // They end there, so that a last line without a newline counts. Looks at what is left at once, at
  // most kMaxAtEnd of it. Last.
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
  std::vector<Stream> streams_;  // Empty once it is found.
  bool is_found_ = false;
  bool waits_ = false;  // For the pace.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace launcher

#endif  // LAUNCHER_LOG_READY_WATCH_H_
