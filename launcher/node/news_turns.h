#ifndef LAUNCHER_NODE_NEWS_TURNS_H_
#define LAUNCHER_NODE_NEWS_TURNS_H_

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace launcher {

// Schedules the news of a node's attempts: they are sent soon, and never from within the call of
// Say(). Attempts take turns (round-robin), so that one that always has news does not starve the
// others. Use on the loop's thread.
class NewsTurns {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    // Returns whether a launcher is connected. Without one, news wait until a Say() after it has
    // connected.
    std::function<bool()> is_open;
    // Returns whether the connection has too many unsent bytes; the turns then continue a little
    // later.
    std::function<bool()> is_full;
    // Sends all news of the attempt.
    std::function<void(const std::string& key)> say;
    // Minimum interval of news that can wait, such as the growth of output.
    absl::Duration pace = absl::Milliseconds(20);
  };
  explicit NewsTurns(Options options) : options_(std::move(options)) {}
  NewsTurns(const NewsTurns&) = delete;
  NewsTurns& operator=(const NewsTurns&) = delete;

  // The attempt has news. With `at_once` they are sent in the loop's next turn, together with all
  // that wait.
  void Say(const std::string& key, bool at_once = true);

 private:
  void SayAll();

  const Options options_;
  std::set<std::string> waiting_;  // Keys of the attempts that have news.
  std::string last_;               // The key of the attempt whose turn was last.
  bool is_at_once_ = false;        // Whether timer_ is set for `at_once`.
  runtime::Timer timer_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_NEWS_TURNS_H_
