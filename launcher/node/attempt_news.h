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

// The news of one attempt: keeps the facts that its node knows, and which of them the launcher has
// not been told yet. After the end nothing else is said. Not thread safe.
class AttemptNews {
 public:
  // False: only its output has grown since.
  bool SetState(const ShimState& state);
  void SetBarrier(const ShimBarrier& barrier);
  // The launcher has answered the barrier with this number.
  void ForgetBarrier(std::uint64_t number);
  // Why the last look of its liveness probe has failed; empty: it has not. False: the look before
  // said the same, which is not said again.
  bool SetLook(const std::string& why);
  // Its liveness probe has given up for this reason.
  void SetFailed(const std::string& reason);
  // `waits`: the end is not said before FinishEnd(), as files of the attempt travel still.
  void SetEnd(AttemptEnd end, bool waits);
  // The files are at the launcher, or `problem` says which one is not. False: no end waits.
  bool FinishEnd(const std::string& problem);

  // Everything is to be said, also what was said before: the launcher may be a new one.
  void SayAll(bool has_probe);
  // Takes the news that are to be said now, in this order; they count as said. Without numbers.
  std::vector<NodeNews> Take(const std::string& key);

  const std::optional<ShimState>& state() const { return state_; }
  bool has_ended() const { return end_.has_value(); }

 private:
  std::optional<ShimState> state_;
  std::optional<ShimBarrier> barrier_;  // The one at which the program waits, not answered yet.
  std::string look_, failed_;           // As in NodeNews.
  std::optional<AttemptEnd> end_;
  bool end_waits_ = false;
  bool says_state_ = false, says_barrier_ = false, says_probe_ = false, says_end_ = false;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_ATTEMPT_NEWS_H_
