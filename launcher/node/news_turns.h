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

// When a node says what is new of its attempts: soon, and never from within the call that tells of
// it. Attempts take turns, so that one with always something new keeps no other silent. On the
// loop's thread.
class NewsTurns {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    // Whether somebody listens: what is new waits as long as nobody does, until the next Say().
    std::function<bool()> is_open;
    // Whether the connection has enough to send already: then the turns go on a little later.
    std::function<bool()> is_full;
    // Says all that is new of the attempt.
    std::function<void(const std::string& key)> say;
    // For what can wait: the growth of output is said so often at most.
    absl::Duration pace = absl::Milliseconds(20);
  };
  explicit NewsTurns(Options options) : options_(std::move(options)) {}
  NewsTurns(const NewsTurns&) = delete;
  NewsTurns& operator=(const NewsTurns&) = delete;

  // Something is new of the attempt. `at_once`: in the loop's next turn, with all that waits.
  void Say(const std::string& key, bool at_once = true);

 private:
  void SayAll();

  const Options options_;
  std::set<std::string> waiting_;  // Keys of attempts.
  std::string last_;               // The key whose turn was last.
  bool is_at_once_ = false;        // As timer_ is set.
  runtime::Timer timer_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_NEWS_TURNS_H_
