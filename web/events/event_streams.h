#ifndef WEB_EVENTS_EVENT_STREAMS_H_
#define WEB_EVENTS_EVENT_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "web/http/server.h"

namespace web {

// Server-sent events: each browser has one stream of the topics that it names, and after a break it
// resumes where it was. Event ids are EPOCH-N. The stream sends a "resync" with topics if the
// browser has missed events that are no longer kept (kKeptEvents), sends an id of another epoch, or
// reads too slowly; the browser then reloads the state of these topics.
//
// Used on the loop's thread.
class EventStreams {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the streams.
    std::string epoch = {};              // Identifies this process; a new one at each start.
    absl::Duration keep_alive = absl::Seconds(15);
    // Called when the first stream names a topic, and when no stream has named it for `linger`.
    // Between these two calls, every event of the topic must be published.
    std::function<void(const std::string& topic)> on_wanted = {};
    std::function<void(const std::string& topic)> on_unwanted = {};
    absl::Duration linger = absl::Seconds(60);
    std::size_t max_streams = 200;
  };
  struct Stats {
    std::size_t streams = 0;
    std::uint64_t published = 0;
    std::uint64_t dropped = 0;  // Not sent because a stream was read too slowly.
    std::uint64_t resyncs = 0;
  };
  // Whether an event may be dropped for a slow reader: a page can reload a curve, but must get
  // every change of a state.
  enum class Slow { kDrop, kKeep };

  // The destructor closes all streams.
  explicit EventStreams(Options options);
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  // Opens a stream. `last_id` is the id of the last event that the browser has received; empty for
  // none.
  void Open(std::vector<std::string> topics, std::string_view last_id,
            std::shared_ptr<Reply> reply);
  // Sends an event to the streams of the topic and keeps it for resuming. Dropped if the topic is
  // not wanted.
  void Publish(const std::string& topic, std::string_view event, const nlohmann::json& data,
               Slow slow = Slow::kKeep);
  // Reports to the streams that an event of the topic is missing.
  void TellGap(const std::string& topic);
  Stats GetStats() const;

 private:
  struct Stream {
    std::shared_ptr<Reply> reply;
    std::set<std::string> topics;
    bool lags = false;
  };
  struct Topic {
    std::size_t streams = 0;
    std::uint64_t since = 0;  // Number of the last event before the topic was wanted.
    runtime::Timer linger;    // Linger timer; runs while no stream wants the topic.
  };
  struct Kept {
    std::uint64_t number;
    std::string topic;
    std::string text;
  };

  void Want(const std::string& name);
  void Unwant(const std::string& name);
  std::optional<std::uint64_t> NumberOf(std::string_view id) const;
  void GoOn(Stream& stream, std::string_view last_id);
  void Resync(Stream& stream, const std::set<std::string>& topics);
  void Deliver(Stream& stream, const std::string& text, Slow slow);
  void CloseTheSlow();
  void Leave(const Stream& stream);
  void Watch(const std::shared_ptr<Stream>& stream);
  void OnProgress(const std::shared_ptr<Stream>& stream);
  void KeepAliveLater();

  const Options options_;
  std::map<std::string, Topic> topics_;
  std::list<std::shared_ptr<Stream>> streams_;  // Their only owner; see Watch().
  std::deque<Kept> kept_;                       // Oldest first.
  std::size_t kept_bytes_ = 0;
  std::uint64_t last_ = 0;  // Number of the last event.
  std::uint64_t dropped_ = 0;
  std::uint64_t resyncs_ = 0;
  runtime::Timer keep_alive_;
};
inline constexpr std::size_t kKeptEvents = 4'096;
inline constexpr std::size_t kKeptEventBytes = 16 << 20;
// Limits of a stream's unsent bytes: above kSlowBytes, droppable events are dropped; above
// kTooSlowBytes, the stream is closed.
inline constexpr std::size_t kSlowBytes = 256 << 10;
inline constexpr std::size_t kTooSlowBytes = 4 << 20;
inline constexpr std::size_t kMostTopics = 64;  // Limit of topics of a stream.

}  // namespace web

#endif  // WEB_EVENTS_EVENT_STREAMS_H_
