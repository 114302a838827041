#ifndef LAUNCHER_NODE_ATTEMPT_NEWS_H_
#define LAUNCHER_NODE_ATTEMPT_NEWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/node/words/node_words.h"
#include "launcher/run/attempt.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {

// The news of one attempt: the facts that its node knows, and which of them were not sent to the
// launcher yet. After the end nothing else is sent. Not thread-safe.
class AttemptNews {
 public:
  // Sets the state. Returns false if only its output has grown since the last one.
  bool SetState(const ShimState& state);
  void SetBarrier(const ShimBarrier& barrier);
  // Removes the barrier with this number, which the launcher has answered.
  void ForgetBarrier(std::uint64_t number);
  // Sets the result of the latest check of its liveness probe: why it has failed, or empty. Returns
  // false if that has not changed, so that it is not sent again.
  bool SetLook(const std::string& why);
  // Its liveness probe has reached its limit of failures, for this reason.
  void SetFailed(const std::string& reason);
  // Sets the end. With `waits` the end is not sent before FinishEnd(), because files of the attempt
  // are still being copied.
  void SetEnd(AttemptEnd end, bool waits);
  // The files are copied to the launcher, or `problem` names one that is not. Returns false if no
  // end waits.
  bool FinishEnd(const std::string& problem);

  // Marks everything as not sent, including what was sent before, since the launcher may be a new
  // one.
  void SayAll(bool has_probe);
  // Returns the news to send now, in this order, and marks them as sent. They have no numbers.
  std::vector<NodeNews> Take(const std::string& key);

  const std::optional<ShimState>& state() const { return state_; }
  bool has_ended() const { return end_.has_value(); }

 private:
  std::optional<ShimState> state_;
  std::optional<ShimBarrier> barrier_;  // The unanswered barrier at which the program waits.
  std::string look_, failed_;           // As in NodeNews.
  std::optional<AttemptEnd> end_;
  bool end_waits_ = false;
  bool says_state_ = false, says_barrier_ = false, says_probe_ = false, says_end_ = false;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_ATTEMPT_NEWS_H_
