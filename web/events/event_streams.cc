// Always true: a topic has an entry as long as it is wanted, and events of it are published only in
// that time; `since` is the number of the last event before it. A stream that lags gets nothing
// that may be dropped until all of it was sent; then it gets a resync.

#include "web/events/event_streams.h"

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/event_loop.h"
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

class Streams : public EventStreams, public std::enable_shared_from_this<Streams> {
 public:
  explicit Streams(Options options) : options_(std::move(options)) {}

  void Start() { KeepAliveLater(); }
  void End() {
    options_.loop->Cancel(timer_);
    for (auto& [name, topic] : topics_) options_.loop->Cancel(topic.timer);
    streams_.clear();
  }

  void Open(std::vector<std::string> topics, std::string_view last_id,
            std::shared_ptr<Reply> reply) override {
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

  void Publish(const std::string& topic, std::string_view event, const json& data,
               Slow slow) override {
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

  void TellGap(const std::string& topic) override {
    ++resyncs_;
    Publish(topic, "resync", {{"topics", {topic}}}, Slow::kKeep);
  }

  Stats GetStats() const override {
    return {
        .streams = streams_.size(), .published = last_, .dropped = dropped_, .resyncs = resyncs_};
  }

 private:
  struct Stream {
    std::shared_ptr<Reply> reply;
    std::set<std::string> topics;
    bool lags = false;
  };
  struct Topic {
    std::size_t streams = 0;
    std::uint64_t since = 0;
    runtime::EventLoop::TimerId timer = 0;  // Runs while no stream wants the topic.
  };
  struct Kept {
    std::uint64_t number;
    std::string topic;
    std::string text;
  };

  void Want(const std::string& name) {
    const auto [place, is_new] = topics_.try_emplace(name);
    Topic& topic = place->second;
    ++topic.streams;
    options_.loop->Cancel(std::exchange(topic.timer, 0));
    if (!is_new) return;
    topic.since = last_;
    if (options_.on_wanted) options_.on_wanted(name);
  }

  void Unwant(const std::string& name) {
    Topic& topic = topics_.at(name);
    if (--topic.streams > 0) return;
    topic.timer = options_.loop->RunAfter(options_.linger, [this, name] {
      topics_.erase(name);
      if (options_.on_unwanted) options_.on_unwanted(name);
    });
  }

  // Returns the N of an id EPOCH-N; nothing for another epoch.
  std::optional<std::uint64_t> NumberOf(std::string_view id) const {
    std::uint64_t number = 0;
    if (!id.starts_with(options_.epoch) || id.size() <= options_.epoch.size() ||
        id[options_.epoch.size()] != '-' ||
        !absl::SimpleAtoi(runtime::Absl(id.substr(options_.epoch.size() + 1)), &number) ||
        number > last_) {
      return std::nullopt;
    }
    return number;
  }

  // Sends what a stream has missed since the event `last_id`.
  void GoOn(Stream& stream, std::string_view last_id) {
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

  // Sends a resync with the id of the newest event, from which the browser goes on.
  void Resync(Stream& stream, const std::set<std::string>& topics) {
    ++resyncs_;
    stream.reply->Write(absl::StrCat("id: ", options_.epoch, "-", last_, "\nevent: resync\ndata: ",
                                     Dump({{"topics", topics}}), "\n\n"));
  }

  void Deliver(Stream& stream, const std::string& text, Slow slow) {
    if (slow == Slow::kDrop && (stream.lags || stream.reply->Waiting() > kSlowBytes)) {
      stream.lags = true;
      ++dropped_;
      return;
    }
    stream.reply->Write(text);
  }

  void CloseTheSlow() {
    streams_.remove_if([&](const std::shared_ptr<Stream>& stream) {
      if (stream->reply->Waiting() <= kTooSlowBytes) return false;
      Leave(*stream);
      return true;
    });
  }

  void Leave(const Stream& stream) {
    for (const std::string& topic : stream.topics) Unwant(topic);
  }

  // (The callback runs on the server's thread.)
  void Watch(const std::shared_ptr<Stream>& stream) {
    stream->reply->OnProgress(
        [loop = options_.loop, weak = weak_from_this(), watched = std::weak_ptr<Stream>(stream)] {
          loop->Post([weak, watched] {
            const auto self = weak.lock();
            const auto stream = watched.lock();
            if (self != nullptr && stream != nullptr) self->OnProgress(stream);
          });
        });
  }

  void OnProgress(const std::shared_ptr<Stream>& stream) {
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

  void KeepAliveLater() {
    timer_ = options_.loop->RunAfter(options_.keep_alive, [this] {
      for (const auto& stream : streams_) stream->reply->Write(std::string(kKeepAlive));
      KeepAliveLater();
    });
  }

  const Options options_;
  std::map<std::string, Topic> topics_;
  std::list<std::shared_ptr<Stream>> streams_;
  std::deque<Kept> kept_;
  std::size_t kept_bytes_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t resyncs_ = 0;
  runtime::EventLoop::TimerId timer_ = 0;
};

// Callbacks that are under way hold the streams weakly, so they have an owner of their own.
class OwnedStreams : public EventStreams {
 public:
  explicit OwnedStreams(Options options) : streams_(std::make_shared<Streams>(std::move(options))) {
    streams_->Start();
  }
  ~OwnedStreams() override { streams_->End(); }
  void Open(std::vector<std::string> topics, std::string_view last_id,
            std::shared_ptr<Reply> reply) override {
    streams_->Open(std::move(topics), last_id, std::move(reply));
  }
  void Publish(const std::string& topic, std::string_view event, const json& data,
               Slow slow) override {
    streams_->Publish(topic, event, data, slow);
  }
  void TellGap(const std::string& topic) override { streams_->TellGap(topic); }
  Stats GetStats() const override { return streams_->GetStats(); }

 private:
  const std::shared_ptr<Streams> streams_;
};

}  // namespace

std::unique_ptr<EventStreams> EventStreams::Create(Options options) {
  return std::make_unique<OwnedStreams>(std::move(options));
}

}  // namespace web
