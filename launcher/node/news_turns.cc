#include "launcher/node/news_turns.h"

namespace launcher {

void NewsTurns::Say(const std::string& key, bool at_once) {
  waiting_.insert(key);
  if (timer_.is_set() && (is_at_once_ || !at_once)) return;
  is_at_once_ = at_once;
  timer_.Start(options_.loop, at_once ? absl::ZeroDuration() : options_.pace, [this] { SayAll(); });
}

void NewsTurns::SayAll() {
  while (!waiting_.empty() && options_.is_open()) {
    if (options_.is_full()) return Say(*waiting_.begin(), /*at_once=*/false);
    auto next = waiting_.upper_bound(last_);
    if (next == waiting_.end()) next = waiting_.begin();
    last_ = *next;
    waiting_.erase(next);
    options_.say(last_);
  }
}

}  // namespace launcher
