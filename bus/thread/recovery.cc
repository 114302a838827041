#include "bus/thread/recovery.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "bus/thread/socket.h"
#include "bus/wire/receive.h"
#include "glog/logging.h"

// Invariants of an Owner:
// - At most one call is under way (`asking_`).
// - A topic is `recovering` from the moment it needs a Since (it is then in `wanted_`) until its
//   round ends. Meanwhile its messages are queued in `held_`, in order.
// - In a round, all topics are `early` or none is: an early round uses the time of the Beginning.
// - `position` of a lane is the end of the delivered entries.

namespace bus {
namespace {

constexpr std::size_t kMaxTopics = 100'000;  // Tracked topics; over it all positions are dropped.
constexpr std::size_t kMaxLanes = 1000;      // Lanes per topic.
constexpr std::size_t kMaxHeld = 10'000;     // Held messages; the rest is requested later.
constexpr std::size_t kMaxHeldBytes = 16 << 20;
constexpr std::size_t kTopicsOfRound = 200;
constexpr std::size_t kPlacesOfRound = 2000;
constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kLongestPause = absl::Seconds(1);
constexpr absl::Duration kRoomPause = absl::Milliseconds(5);
constexpr absl::Duration kGiveUp = absl::Seconds(30);

struct Root {
  const char* root;
  const char* service;
  // An event's lane is its publisher; entries of a new lane before its first event are not
  // requested.
  bool lanes_are_sources;
  // Positions count events, so that the size of a gap is known.
  bool counts_events;
  // The record is lost with the hub.
  bool lives_in_hub;
  // True for the topics of the root that the service owns. Null: it owns all of them.
  bool (*owns)(std::string_view topic) = nullptr;

  bool Owns(std::string_view topic) const {
    return topic.starts_with(root) && (owns == nullptr || owns(topic));
  }
};

// Alerts have two owners; the kind, which is the topic's second level, distinguishes them.
bool IsAlertOfTrials(std::string_view topic) {
  return topic.starts_with("a/trial_") || topic.starts_with("a/metric_");
}
bool IsOtherAlert(std::string_view topic) { return !IsAlertOfTrials(topic); }

constexpr std::array<Root, 6> kRoots = {{{"t/", "trainer", false, true, false},
                                         {"l/", "launcher", false, false, false},
                                         {"m/", "datamanager", false, false, false},
                                         {"e/", "registry", true, true, true},
                                         {"a/", "trainer", false, false, false, IsAlertOfTrials},
                                         {"a/", "launcher", false, false, false, IsOtherAlert}}};

msg::Span SpanOf(const Root& root, const msg::Envelope& event) {
  if (event.span() != nullptr) return *event.span();
  const msg::Head& head = *event.head();
  if (!root.lanes_are_sources) return msg::Span(0, 0, 0);
  return msg::Span(head.source(), head.seq() - (head.seq() == 0 ? 0 : 1), head.seq());
}

}  // namespace

class Recovery::Owner {
 public:
  Owner(Recovery* recovery, const Root& root, std::vector<std::string> prefixes)
      : recovery_(*recovery), root_(root), prefixes_(std::move(prefixes)) {}
  ~Owner() { *alive_ = false; }

  const Root& root() const { return root_; }
  void HubHeard();
  void ServiceStarted();
  void ConnectedAnew() { TakeSnapshot(); }
  void OnMessage(std::string_view topic, const Frame& frame, const msg::Envelope& event, bool hole);
  std::uint64_t asked() const { return asked_; }

 private:
  struct Topic {
    std::map<std::uint64_t, std::uint64_t> positions;  // By lane.
    std::map<std::uint64_t, std::uint64_t> seen;       // Ends that the record must reach, as known
                                                       // from received messages.
    std::set<std::uint64_t> untouched;  // Lanes that begin at their end and had no event yet.
    bool recovering = false;
    bool early = false;  // Requests entries from before the subscriber's start.
    bool again = false;  // A message was not held during the round: the topic needs another round.
  };
  struct Held {
    std::string topic;
    Frame frame;
    bool hole;
  };
  using Topics = std::unordered_map<std::string, Topic>;

  // Wraps a callback so that it does nothing after this object was destroyed.
  template <typename F>
  auto Guard(F function) {
    return [alive = alive_, function = std::move(function)](auto... args) mutable {
      if (*alive) function(std::move(args)...);
    };
  }
  void Lost(std::string_view topic, std::uint64_t count) {
    if (recovery_.options_.lost) recovery_.options_.lost(topic, count);
  }

  // The snapshot of all positions.
  void TakeSnapshot();
  void AskEnds();
  void OnEnds(absl::StatusOr<msg::EndsReplyT> reply);
  void SnapshotTaken(bool complete);
  void BeginAt(const Beginning& beginning, const msg::PlaceT& place);
  bool IsByTime(const Topic& topic) const;

  // Events.
  void Take(const std::string& name, const Frame& frame, const msg::Envelope& event, bool hole);
  std::uint64_t& PositionOf(Topic& topic, const msg::Span& span, bool is_event);
  void Hold(std::string_view topic, const Frame& frame, bool hole);
  void ReplayHeld();

  // Rounds of Since.
  void Want(const std::string& name, Topic& topic);
  void NextRound();
  void AskSince();
  void OnSince(absl::StatusOr<msg::SinceReplyT> reply);
  void OnRecorded(const msg::RecordedEventT& recorded);
  void RoundDone();
  void TellMissing(const std::string& name, Topic& topic);
  void GiveUp(const absl::Status& why);

  Recovery& recovery_;
  const Root root_;
  const std::vector<std::string> prefixes_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  Topics topics_;
  std::set<std::string> wanted_;
  std::deque<Held> held_;
  std::size_t held_bytes_ = 0;
  bool asking_ = false;
  absl::Duration pause_ = kFirstPause;
  absl::Duration failing_since_ = absl::InfiniteDuration();

  // The snapshot: all positions that the owner has returned so far, until the last page.
  bool snapshot_wanted_ = false;
  bool snapshot_timer_ = false;
  bool was_ready_ = false;
  bool overflowed_ = false;
  bool known_ = false;  // A snapshot was taken: an unknown topic is new.
  bool begun_ = false;  // The Beginning was applied; it is used only once.
  std::size_t prefix_ = 0;
  std::string after_;
  std::vector<msg::PlaceT> places_;

  std::vector<std::string> round_;     // This round's topics without a full answer yet.
  std::vector<std::string> finished_;  // Topics of this round with a full answer.
  std::uint64_t asked_ = 0;
};

// ---- The snapshot

void Recovery::Owner::HubHeard() {
  if (known_ && root_.lives_in_hub) {
    // A new hub has no record; the tails of running publishers show which events are missing.
    Lost(root_.root, 0);
    return;
  }
  TakeSnapshot();
}

void Recovery::Owner::ServiceStarted() {
  if (was_ready_ && !root_.lives_in_hub) TakeSnapshot();
}

void Recovery::Owner::TakeSnapshot() {
  snapshot_wanted_ = true;
  if (asking_) return;  // NextRound() takes it when the round ends.
  snapshot_wanted_ = false;
  asking_ = true;
  prefix_ = 0;
  after_.clear();
  places_.clear();
  AskEnds();
}

void Recovery::Owner::AskEnds() {
  msg::EndsRequestT request;
  request.prefix = prefixes_[prefix_];
  request.after = after_;
  recovery_.options_.calls->Ends(
      root_.service, request,
      Guard([this](absl::StatusOr<msg::EndsReplyT> reply) { OnEnds(std::move(reply)); }));
}

void Recovery::Owner::OnEnds(absl::StatusOr<msg::EndsReplyT> reply) {
  if (!reply.ok()) {
    SnapshotTaken(false);
    // Until the owner answers, only positions from received messages are known.
    if (absl::IsUnimplemented(reply.status()) || std::exchange(snapshot_timer_, true)) return;
    return recovery_.options_.calls->RunAfter(kLongestPause, Guard([this] {
                                                snapshot_timer_ = false;
                                                TakeSnapshot();
                                              }));
  }
  for (const auto& place : reply->places) {
    if (place != nullptr && places_.size() < kMaxTopics) places_.push_back(std::move(*place));
  }
  if (reply->more && !places_.empty() && places_.back().topic > after_) {
    after_ = places_.back().topic;
    return AskEnds();
  }
  after_.clear();
  if (++prefix_ < prefixes_.size()) return AskEnds();
  SnapshotTaken(true);
}

void Recovery::Owner::SnapshotTaken(bool complete) {
  asking_ = false;
  if (!complete) places_.clear();
  const bool first = complete && !std::exchange(known_, true);
  // Events received since the subscription took effect must be delivered, even if the owner's
  // answer already includes them.
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> heard;
  if (first) {
    for (const Held& held : held_) {
      const auto event = Receive(held.frame.bytes(), kMaxMessageBytes);
      if (!event.ok() || (*event)->kind() != msg::Kind::Event) continue;
      const msg::Span span = SpanOf(root_, **event);
      heard.try_emplace({held.topic, span.lane()}, span.from());
    }
  }
  for (const msg::PlaceT& place : places_) {
    Topic& topic = topics_[place.topic];
    if (!first) {
      // A later snapshot: requests the entries that are missing since.
      std::uint64_t& seen = topic.seen[place.lane];
      seen = std::max(seen, place.position);
      if (topic.positions[place.lane] < place.position) Want(place.topic, topic);
      continue;
    }
    if (recovery_.options_.beginning.has_value() && !begun_) {
      BeginAt(*recovery_.options_.beginning, place);
      continue;
    }
    const auto from = heard.find({place.topic, place.lane});
    topic.positions.try_emplace(
        place.lane, from == heard.end() ? place.position : std::min(place.position, from->second));
    topic.untouched.insert(place.lane);
  }
  places_.clear();
  begun_ = begun_ || first;
  if (std::exchange(overflowed_, false)) Lost(root_.root, 0);
  if (!std::exchange(was_ready_, true) && --recovery_.not_ready_ == 0 && recovery_.options_.ready) {
    recovery_.options_.ready();
  }
  ReplayHeld();
  NextRound();
}

void Recovery::Owner::BeginAt(const Beginning& beginning, const msg::PlaceT& place) {
  Topic& topic = topics_[place.topic];
  topic.positions[place.lane] = std::min(beginning.position, place.position);
  if (beginning.position >= place.position) return;
  topic.seen[place.lane] = place.position;
  topic.early = true;
  Want(place.topic, topic);
}

// Older entries than the Beginning's time are not missed, however many they are.
bool Recovery::Owner::IsByTime(const Topic& topic) const {
  return topic.early && recovery_.options_.beginning->time != absl::InfinitePast();
}

// ---- Events

void Recovery::Owner::OnMessage(std::string_view topic, const Frame& frame,
                                const msg::Envelope& event, bool hole) {
  if (!was_ready_) return Hold(topic, frame, hole);
  Take(std::string(topic), frame, event, hole);
}

void Recovery::Owner::Take(const std::string& name, const Frame& frame, const msg::Envelope& event,
                           bool hole) {
  if (topics_.size() >= kMaxTopics && !asking_ && wanted_.empty() && !topics_.contains(name)) {
    topics_.clear();
    known_ = false;
  }
  Topic& topic = topics_[name];
  const bool is_event = event.kind() == msg::Kind::Event;
  const msg::Span span = SpanOf(root_, event);
  const bool news = is_event && span.from() == span.to();
  if (topic.recovering) {
    // (The owner sends the newest news at the end of the round; older news must not follow it.)
    if (news || hole) topic.again = true;
    if (!news) Hold(name, frame, false);
    return;
  }
  std::uint64_t& position = PositionOf(topic, span, is_event);
  if (is_event && topic.untouched.erase(span.lane()) > 0 && span.from() < position &&
      event.head() != nullptr && event.head()->sent_us() >= recovery_.greeted_us_) {
    position = span.from();  // The owner's answer already included this event.
  }
  const bool fits = span.from() == position;
  if (is_event && fits) {
    position = span.to();
    recovery_.options_.deliver(name, event, frame.bytes(), false);
  } else if (span.to() > position) {
    topic.seen[span.lane()] = span.to();
    Want(name, topic);
    if (is_event && !news) Hold(name, frame, false);
  }
  // The missing message is on another lane, or is not an entry.
  if (hole && !root_.lanes_are_sources) Want(name, topic);
  NextRound();
}

// Returns the end of the delivered entries of an event's lane. An unknown lane starts at 0 after a
// snapshot (the lane is new), otherwise at this event.
std::uint64_t& Recovery::Owner::PositionOf(Topic& topic, const msg::Span& span, bool is_event) {
  if (topic.positions.size() >= kMaxLanes && !topic.positions.contains(span.lane())) {
    topic.positions.clear();
  }
  const std::uint64_t begin = known_ && !root_.lanes_are_sources ? 0
                              : is_event                         ? span.from()
                                                                 : span.to();
  return topic.positions.try_emplace(span.lane(), begin).first->second;
}

void Recovery::Owner::Hold(std::string_view topic, const Frame& frame, bool hole) {
  if (held_.size() >= kMaxHeld || held_bytes_ + frame.size() > kMaxHeldBytes) {
    // Dropped: another round will request it from the owner.
    if (const auto found = topics_.find(std::string(topic)); found != topics_.end()) {
      found->second.again = true;
    } else {
      overflowed_ = true;  // Before the first snapshot, the loss can only be reported.
    }
    return;
  }
  held_bytes_ += frame.size();
  held_.push_back({std::string(topic), frame.Share(), hole});
}

void Recovery::Owner::ReplayHeld() {
  const std::deque<Held> held = std::exchange(held_, {});
  held_bytes_ = 0;
  for (const Held& message : held) {
    const auto event = Receive(message.frame.bytes(), kMaxMessageBytes);
    if (event.ok()) Take(message.topic, message.frame, **event, message.hole);
  }
}

// ---- Rounds of Since

void Recovery::Owner::Want(const std::string& name, Topic& topic) {
  topic.recovering = true;
  wanted_.insert(name);
}

void Recovery::Owner::NextRound() {
  if (asking_) return;
  if (snapshot_wanted_) return TakeSnapshot();
  if (wanted_.empty()) return;
  asking_ = true;
  std::size_t places = 0;
  const bool early = topics_[*wanted_.begin()].early;
  for (auto name = wanted_.begin();
       name != wanted_.end() && round_.size() < kTopicsOfRound && places < kPlacesOfRound;) {
    Topic& topic = topics_[*name];
    if (topic.early != early) {
      ++name;
      continue;
    }
    round_.push_back(*name);
    name = wanted_.erase(name);
    topic.recovering = true;
    places += topic.positions.size();
  }
  AskSince();
}

void Recovery::Owner::AskSince() {
  const Options& options = recovery_.options_;
  if (options.has_room && !options.has_room()) {
    return options.calls->RunAfter(kRoomPause, Guard([this] { AskSince(); }));
  }
  msg::SinceRequestT request;
  if (IsByTime(topics_[round_.front()])) {
    request.since_us = std::max<std::int64_t>(absl::ToUnixMicros(options.beginning->time), 1);
  }
  for (const std::string& name : round_) {
    Topic& topic = topics_[name];
    // Also requests lanes that are known from messages only.
    for (const auto& [lane, seen] : topic.seen) topic.positions.try_emplace(lane, 0);
    for (const auto& [lane, position] : topic.positions) {
      auto place = std::make_unique<msg::PlaceT>();
      place->topic = name;
      place->lane = lane;
      place->position = position;
      request.places.push_back(std::move(place));
    }
  }
  ++asked_;
  options.calls->Since(
      root_.service, request,
      Guard([this](absl::StatusOr<msg::SinceReplyT> reply) { OnSince(std::move(reply)); }));
}

void Recovery::Owner::OnSince(absl::StatusOr<msg::SinceReplyT> reply) {
  const absl::Duration now = recovery_.options_.calls->Now();
  if (!reply.ok()) {
    failing_since_ = std::min(failing_since_, now);
    const absl::Status& why = reply.status();
    if (absl::IsUnimplemented(why) || now - failing_since_ >= kGiveUp) return GiveUp(why);
    recovery_.options_.calls->RunAfter(pause_, Guard([this] { AskSince(); }));
    pause_ = std::min(2 * pause_, kLongestPause);
    return;
  }
  failing_since_ = absl::InfiniteDuration();
  pause_ = kFirstPause;
  for (const auto& recorded : reply->events) {
    if (recorded != nullptr) OnRecorded(*recorded);
  }
  if (reply->more && !reply->events.empty() && reply->events.back() != nullptr) {
    // The last topic may continue on the next page; the topics before it are complete.
    std::set<std::string> done;
    for (const auto& recorded : reply->events) done.insert(recorded->topic);
    done.erase(reply->events.back()->topic);
    const auto rest = std::stable_partition(
        round_.begin(), round_.end(), [&](const std::string& name) { return done.contains(name); });
    finished_.insert(finished_.end(), round_.begin(), rest);
    round_.erase(round_.begin(), rest);
    return AskSince();
  }
  RoundDone();
}

void Recovery::Owner::OnRecorded(const msg::RecordedEventT& recorded) {
  const auto found = topics_.find(recorded.topic);
  const auto event = Receive(recorded.envelope, kMaxMessageBytes);
  if (found == topics_.end() || !event.ok() || !event->body_known() ||
      ((*event)->span() == nullptr && (*event)->head() == nullptr)) {
    return;
  }
  const msg::Span span = SpanOf(root_, **event);
  std::uint64_t& position = found->second.positions.try_emplace(span.lane(), 0).first->second;
  found->second.untouched.erase(span.lane());
  const bool by_time = IsByTime(found->second);
  if (by_time && span.from() == span.to() && (*event)->body_type() == msg::Body::NONE) {
    position = std::max(position, span.to());  // The beginning of a lane's answer.
    return;
  }
  if (span.from() > position) {
    Lost(recorded.topic, root_.counts_events && !by_time ? span.from() - position : 0);
  }
  if (span.to() < position || (span.to() == position && span.from() != span.to())) return;
  position = span.to();
  recovery_.options_.deliver(recorded.topic, **event, recorded.envelope, true);
}

void Recovery::Owner::RoundDone() {
  asking_ = false;
  finished_.insert(finished_.end(), round_.begin(), round_.end());
  round_.clear();
  for (const std::string& name : std::exchange(finished_, {})) {
    Topic& topic = topics_[name];
    TellMissing(name, topic);
    topic.recovering = topic.early = false;
    if (std::exchange(topic.again, false)) Want(name, topic);
  }
  ReplayHeld();
  NextRound();
}

// Reports as lost the entries that must have existed but that the owner does not have. A held
// message after the gap is not lost.
void Recovery::Owner::TellMissing(const std::string& name, Topic& topic) {
  std::map<std::uint64_t, std::uint64_t> ends = std::exchange(topic.seen, {});
  if (ends.empty()) return;
  for (const Held& held : held_) {
    if (held.topic != name) continue;
    const auto event = Receive(held.frame.bytes(), kMaxMessageBytes);
    if (!event.ok() || (*event)->kind() != msg::Kind::Event) continue;
    const msg::Span span = SpanOf(root_, **event);
    const auto end = ends.find(span.lane());
    if (end == ends.end() || span.to() <= topic.positions[span.lane()]) continue;
    end->second = std::min(end->second, span.from());
  }
  for (const auto& [lane, end] : ends) {
    std::uint64_t& position = topic.positions[lane];
    if (end <= position) continue;
    if (!IsByTime(topic)) Lost(name, root_.counts_events ? end - position : 0);
    position = end;
  }
}

// Ends the round without an answer; its topics continue with held and later messages.
void Recovery::Owner::GiveUp(const absl::Status& why) {
  LOG(WARNING) << "events of " << root_.root << " cannot be recovered: " << why.message();
  pause_ = kFirstPause;
  failing_since_ = absl::InfiniteDuration();
  round_.insert(round_.end(), wanted_.begin(), wanted_.end());
  wanted_.clear();
  for (const std::string& name : round_) {
    topics_[name].again = false;
    if (topics_[name].seen.empty()) Lost(name, 0);
  }
  RoundDone();
}

// ---- Recovery

bool HasRecord(std::string_view prefix) {
  return std::any_of(kRoots.begin(), kRoots.end(),
                     [&](const Root& root) { return prefix.starts_with(root.root); });
}

Recovery::Recovery(Options options) : options_(std::move(options)) {
  for (const Root& root : kRoots) {
    const std::string_view name = root.root;
    std::vector<std::string> prefixes;
    for (const std::string& prefix : options_.prefixes) {
      if (prefix.starts_with(name)) prefixes.push_back(prefix);
      if (name.starts_with(prefix) && prefix != name) prefixes.emplace_back(name);
    }
    std::sort(prefixes.begin(), prefixes.end());
    // Drops prefixes that begin with another prefix.
    std::vector<std::string> apart;
    for (std::string& prefix : prefixes) {
      if (apart.empty() || !prefix.starts_with(apart.back())) apart.push_back(std::move(prefix));
    }
    if (apart.empty()) continue;
    owners_.push_back(std::make_unique<Owner>(this, root, std::move(apart)));
  }
  not_ready_ = owners_.size();
}

Recovery::~Recovery() = default;

bool Recovery::Handles(std::string_view topic) const {
  return std::any_of(owners_.begin(), owners_.end(),
                     [&](const auto& owner) { return owner->root().Owns(topic); });
}

void Recovery::HubHeard(std::int64_t greeted_us) {
  if (!heard_) greeted_us_ = greeted_us;
  if (!std::exchange(heard_, true) && owners_.empty() && options_.ready) return options_.ready();
  for (const auto& owner : owners_) owner->HubHeard();
}

void Recovery::ConnectedAnew() {
  for (const auto& owner : owners_) owner->ConnectedAnew();
}

void Recovery::ServiceStarted(std::string_view service) {
  for (const auto& owner : owners_) {
    if (service == owner->root().service) owner->ServiceStarted();
  }
}

std::vector<std::string> Recovery::Services() const {
  std::vector<std::string> services;
  for (const auto& owner : owners_) {
    const std::string service = owner->root().service;
    if (std::find(services.begin(), services.end(), service) == services.end()) {
      services.push_back(service);
    }
  }
  return services;
}

void Recovery::OnMessage(std::string_view topic, const Frame& frame, const msg::Envelope& event,
                         bool hole) {
  for (const auto& owner : owners_) {
    if (owner->root().Owns(topic)) {
      return owner->OnMessage(topic, frame, event, hole);
    }
  }
}

std::uint64_t Recovery::asked() const {
  std::uint64_t sum = 0;
  for (const auto& owner : owners_) sum += owner->asked();
  return sum;
}

}  // namespace bus
