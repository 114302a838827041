#ifndef WEB_EVENTS_EVENT_STREAMS_H_
#define WEB_EVENTS_EVENT_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "web/http/server.h"

namespace runtime {
class EventLoop;
}

namespace web {

// Server-sent events: each browser has one stream, of the topics that it names, and goes on after a
// break where it was. An event has the id EPOCH-N. The stream sends a "resync", which names topics,
// if a browser has missed events that are not kept any more (kKeptEvents), names an id of another
// epoch, or reads too slowly; the browser then asks for the state of these topics anew.
//
// On the loop's thread.
class EventStreams {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the streams.
    std::string epoch = {};              // Epoch of this process.
    absl::Duration keep_alive = absl::Seconds(15);
    // Called when the first stream names a topic, and when no stream has named it for `linger`.
    // Between the two calls, every event of the topic must be published.
    std::function<void(const std::string& topic)> on_wanted = {};
    std::function<void(const std::string& topic)> on_unwanted = {};
    absl::Duration linger = absl::Seconds(60);
    std::size_t max_streams = 200;
  };
  struct Stats {
    std::size_t streams = 0;
    std::uint64_t published = 0;
    std::uint64_t dropped = 0;  // Events not sent because a stream was read too slowly.
    std::uint64_t resyncs = 0;
  };
  // Whether an event may be dropped when its reader is too slow: the page asks for a curve anew,
  // but must get each change of a state.
  enum class Slow { kDrop, kKeep };

  static std::unique_ptr<EventStreams> Create(Options options);
  virtual ~EventStreams() = default;  // Ends all streams.

  // Begins a stream. `last_id`: the id of the last event that the browser has seen; empty: none.
  virtual void Open(std::vector<std::string> topics, std::string_view last_id,
                    std::shared_ptr<Reply> reply) = 0;
  virtual void Publish(const std::string& topic, std::string_view event, const nlohmann::json& data,
                       Slow slow = Slow::kKeep) = 0;
  // Tells the streams that an event of the topic is missing.
  virtual void TellGap(const std::string& topic) = 0;
  virtual Stats GetStats() const = 0;
};
inline constexpr std::size_t kKeptEvents = 4'096;
inline constexpr std::size_t kKeptEventBytes = 16 << 20;
// Unsent bytes of a stream: over kSlowBytes, events that may be dropped are dropped; over
// kTooSlowBytes, the stream is closed.
inline constexpr std::size_t kSlowBytes = 256 << 10;
inline constexpr std::size_t kTooSlowBytes = 4 << 20;
inline constexpr std::size_t kMostTopics = 64;  // Limit of a stream.

}  // namespace web

#endif  // WEB_EVENTS_EVENT_STREAMS_H_
