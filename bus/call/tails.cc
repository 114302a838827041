#include "bus/call/tails.h"

#include <iterator>
#include <memory>
#include <utility>

#include "bus/wire/envelope.h"

namespace bus {

void Tails::Note(const std::string& topic, std::uint64_t seq, std::optional<msg::Span> span,
                 absl::Duration now) {
  const absl::Duration due = now + kSilence;
  if (const auto found = index_.find(topic); found != index_.end()) {
    const auto entry = found->second;
    Entries& from = entry->due == absl::InfiniteDuration() ? told_ : waiting_;
    entry->tail.seq = seq;
    entry->tail.span = span;
    entry->due = due;
    waiting_.splice(waiting_.end(), from, entry);
    return;
  }
  waiting_.push_back({{topic, seq, span}, due});
  index_.emplace(waiting_.back().tail.topic, std::prev(waiting_.end()));
  if (index_.size() <= max_topics_) return;
  Entries& oldest = told_.empty() ? waiting_ : told_;
  index_.erase(oldest.front().tail.topic);
  oldest.pop_front();
}

void Tails::TellAll(absl::Duration now) {
  for (Entry& entry : told_) entry.due = now + kSilence;
  waiting_.splice(waiting_.end(), told_);
}

std::vector<Tails::Tail> Tails::Take(absl::Duration now, std::size_t limit) {
  std::vector<Tail> due;
  while (!waiting_.empty() && waiting_.front().due <= now && due.size() < limit) {
    due.push_back(waiting_.front().tail);
    waiting_.front().due = absl::InfiniteDuration();
    told_.splice(told_.end(), waiting_, waiting_.begin());
  }
  return due;
}

Frame EncodeTail(const Tails::Tail& tail, std::uint64_t source, std::uint64_t epoch,
                 std::int64_t sent_us) {
  msg::EnvelopeT envelope;
  envelope.kind = msg::Kind::Tail;
  envelope.head = std::make_unique<msg::Head>(source, epoch, tail.seq, sent_us);
  if (tail.span.has_value()) envelope.span = std::make_unique<msg::Span>(*tail.span);
  return Encode(envelope);
}

}  // namespace bus
