// Invariants: a topic has an entry for as long as it is wanted, and its events are published only
// in that time; `since` is the number of the last event before it. A lagging stream gets no
// droppable events until everything queued is sent; then it gets a resync.

#include "web/events/event_streams.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"
#include "web/http/message.h"
#include "web/http/problem.h"

namespace web {
namespace {

using nlohmann::json;

constexpr std::string_view kBegin = "retry: 1500\n\n";
constexpr std::string_view kKeepAlive = ": keep-alive\n\n";

std::string Dump(const json& data) {
  return data.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

EventStreams::EventStreams(Options options) : options_(std::move(options)) { KeepAliveLater(); }

void EventStreams::Open(std::vector<std::string> topics, std::string_view last_id,
                        std::shared_ptr<Reply> reply) {
  if (streams_.size() >= options_.max_streams) {
    return reply->Send(Problem(429, "too many browsers listen already"));
  }
  auto stream = std::make_shared<Stream>();
  stream->reply = std::move(reply);
  stream->topics = {topics.begin(), topics.end()};
  for (const std::string& topic : stream->topics) Want(topic);
  stream->reply->Begin({.type = "text/event-stream"});
  stream->reply->Write(std::string(kBegin));
  streams_.push_back(stream);
  if (!last_id.empty()) GoOn(*stream, last_id);
  Watch(stream);
}

void EventStreams::Publish(const std::string& topic, std::string_view event, const json& data,
                           Slow slow) {
  if (topics_.count(topic) == 0) return;
  ++last_;
  std::string text =
      absl::StrCat("id: ", options_.epoch, "-", last_, "\nevent: ", runtime::Absl(event),
                   "\ndata: ", Dump(data), "\n\n");
  for (const auto& stream : streams_) {
    if (stream->topics.count(topic) > 0) Deliver(*stream, text, slow);
  }
  kept_bytes_ += text.size();
  kept_.push_back({last_, topic, std::move(text)});
  while (kept_.size() > kKeptEvents || kept_bytes_ > kKeptEventBytes) {
    kept_bytes_ -= kept_.front().text.size();
    kept_.pop_front();
  }
  CloseTheSlow();
}

void EventStreams::TellGap(const std::string& topic) {
  ++resyncs_;
  Publish(topic, "resync", {{"topics", {topic}}}, Slow::kKeep);
}

EventStreams::Stats EventStreams::GetStats() const {
  return {.streams = streams_.size(), .published = last_, .dropped = dropped_, .resyncs = resyncs_};
}

void EventStreams::Want(const std::string& name) {
  const auto [place, is_new] = topics_.try_emplace(name);
  Topic& topic = place->second;
  ++topic.streams;
  topic.linger.Cancel();
  if (!is_new) return;
  topic.since = last_;
  if (options_.on_wanted) options_.on_wanted(name);
}

void EventStreams::Unwant(const std::string& name) {
  Topic& topic = topics_.at(name);
  if (--topic.streams > 0) return;
  topic.linger.Start(options_.loop, options_.linger, [this, name] {
    topics_.erase(name);
    if (options_.on_unwanted) options_.on_unwanted(name);
  });
}

// Returns the N of an id EPOCH-N; nothing for another epoch.
std::optional<std::uint64_t> EventStreams::NumberOf(std::string_view id) const {
  std::uint64_t number = 0;
  if (!id.starts_with(options_.epoch) || id.size() <= options_.epoch.size() ||
      id[options_.epoch.size()] != '-' ||
      !absl::SimpleAtoi(runtime::Absl(id.substr(options_.epoch.size() + 1)), &number) ||
      number > last_) {
    return std::nullopt;
  }
  return number;
}

// Sends the events that a stream has missed since `last_id`.
void EventStreams::GoOn(Stream& stream, std::string_view last_id) {
  const auto number = NumberOf(last_id);
  const bool is_kept =
      number && (*number == last_ || (!kept_.empty() && kept_.front().number <= *number + 1));
  if (!is_kept) return Resync(stream, stream.topics);
  std::set<std::string> unknown;
  for (const std::string& topic : stream.topics) {
    if (topics_.at(topic).since > *number) unknown.insert(topic);
  }
  for (const Kept& event : kept_) {
    if (event.number > *number && stream.topics.count(event.topic) > 0) {
      stream.reply->Write(event.text);
    }
  }
  if (!unknown.empty()) Resync(stream, unknown);
}

// Sends a resync with the id of the newest event, from which the browser continues.
void EventStreams::Resync(Stream& stream, const std::set<std::string>& topics) {
  ++resyncs_;
  stream.reply->Write(absl::StrCat("id: ", options_.epoch, "-", last_,
                                   "\nevent: resync\ndata: ", Dump({{"topics", topics}}), "\n\n"));
}

void EventStreams::Deliver(Stream& stream, const std::string& text, Slow slow) {
  if (slow == Slow::kDrop && (stream.lags || stream.reply->Waiting() > kSlowBytes)) {
    stream.lags = true;
    ++dropped_;
    return;
  }
  stream.reply->Write(text);
}

void EventStreams::CloseTheSlow() {
  streams_.remove_if([&](const std::shared_ptr<Stream>& stream) {
    if (stream->reply->Waiting() <= kTooSlowBytes) return false;
    Leave(*stream);
    return true;
  });
}

void EventStreams::Leave(const Stream& stream) {
  for (const std::string& topic : stream.topics) Unwant(topic);
}

// The callback runs on the server's thread, so it posts to the loop. This object is the only owner
// of a stream, so a posted function finds both or neither.
void EventStreams::Watch(const std::shared_ptr<Stream>& stream) {
  stream->reply->OnProgress([this, loop = options_.loop, watched = std::weak_ptr<Stream>(stream)] {
    loop->Post([this, watched] {
      if (const auto stream = watched.lock()) OnProgress(stream);
    });
  });
}

void EventStreams::OnProgress(const std::shared_ptr<Stream>& stream) {
  if (stream->reply->IsGone()) {
    const auto place = std::find(streams_.begin(), streams_.end(), stream);
    if (place == streams_.end()) return;
    Leave(*stream);
    streams_.erase(place);
    return;
  }
  if (!stream->lags || stream->reply->Waiting() > 0) return;
  stream->lags = false;
  Resync(*stream, stream->topics);
}

void EventStreams::KeepAliveLater() {
  keep_alive_.Start(options_.loop, options_.keep_alive, [this] {
    for (const auto& stream : streams_) stream->reply->Write(std::string(kKeepAlive));
    KeepAliveLater();
  });
}

}  // namespace web
