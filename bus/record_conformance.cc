#include "bus/record_conformance.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/receive.h"
#include "bus/record_page.h"
#include "bus/socket.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using Lane = std::pair<std::string, std::uint64_t>;  // Of a topic.

struct Entry {
  Lane lane;
  std::uint64_t from = 0, to = 0;
};

class Checker {
 public:
  explicit Checker(const RecordUnderTest& record) : record_(record) {}

  // All pages.
  std::map<Lane, std::uint64_t> Ends(const std::string& prefix) {
    std::map<Lane, std::uint64_t> ends;
    msg::EndsRequestT request;
    request.prefix = prefix;
    while (true) {
      const auto reply = record_.ends(request);
      EXPECT_EQ(reply.status(), absl::OkStatus());
      if (!reply.ok()) return ends;
      std::string last = request.after;
      for (const auto& place : reply->places) {
        EXPECT_TRUE(place->topic.starts_with(prefix)) << place->topic;
        EXPECT_GE(place->topic, last) << "topics are in order";
        last = place->topic;
        EXPECT_TRUE(ends.emplace(Lane(place->topic, place->lane), place->position).second)
            << place->topic << " lane " << place->lane << " comes twice";
      }
      if (!reply->more) return ends;
      EXPECT_FALSE(reply->places.empty()) << "more, but none";
      if (reply->places.empty()) return ends;
      request.after = last;
    }
  }

  // What a subscriber that knows `places` gets, over all pages; moves `places`.
  std::vector<Entry> Since(std::map<Lane, std::uint64_t>& places, std::int64_t since_us = 0) {
    std::vector<Entry> all;
    while (true) {
      msg::SinceRequestT request;
      request.since_us = since_us;
      for (const auto& [lane, position] : places) {
        auto place = std::make_unique<msg::PlaceT>();
        place->topic = lane.first;
        place->lane = lane.second;
        place->position = position;
        request.places.push_back(std::move(place));
      }
      const auto reply = record_.since(request);
      EXPECT_EQ(reply.status(), absl::OkStatus());
      if (!reply.ok()) return all;
      EXPECT_LE(reply->events.size(), SincePage::kMaxEvents);
      bool further = false;
      for (const auto& event : reply->events) {
        const Entry entry = Read(*event);
        std::uint64_t& position = places.try_emplace(entry.lane, 0).first->second;
        if (since_us != 0 && entry.from == entry.to && entry.to >= position) {
          further = further || entry.to > position;  // Where the lane's answer begins.
          position = entry.to;
        }
        EXPECT_EQ(entry.from, position) << entry.lane.first << " lane " << entry.lane.second;
        further = further || entry.to > position;
        position = entry.to;
        all.push_back(entry);
      }
      if (!reply->more) return all;
      EXPECT_TRUE(further) << "more, but no step further";
      if (!further) return all;
    }
  }

 private:
  static Entry Read(const msg::RecordedEventT& recorded) {
    Entry entry;
    const auto event = Receive(recorded.envelope, kMaxMessageBytes);
    EXPECT_EQ(event.status(), absl::OkStatus());
    if (!event.ok()) return entry;
    EXPECT_EQ((*event)->kind(), msg::Kind::Event);
    const msg::Span* const span = (*event)->span();
    const msg::Head* const head = (*event)->head();
    // A user's event counts itself.
    if (span == nullptr && head != nullptr && recorded.topic.starts_with("e/")) {
      return {Lane(recorded.topic, head->source()), head->seq() - 1, head->seq()};
    }
    EXPECT_NE(span, nullptr);
    if (span == nullptr) return entry;
    EXPECT_GE(span->to(), span->from());
    return {Lane(recorded.topic, span->lane()), span->from(), span->to()};
  }

  const RecordUnderTest& record_;
};

}  // namespace

void ExpectConformingRecord(const RecordUnderTest& record) {
  Checker checker(record);
  const auto ends = checker.Ends(record.root);
  std::map<Lane, std::uint64_t> begins;
  std::uint64_t entries = 0;
  for (const auto& [lane, position] : ends) {
    begins[lane] = 0;
    entries += position;
    const auto own = checker.Ends(lane.first);
    EXPECT_TRUE(own.contains(lane)) << lane.first;
  }
  ASSERT_GT(entries, 0u) << "there must be something to read";
  EXPECT_EQ(checker.Ends(record.root + "no-such-topic/").size(), 0u);

  // From the beginning of everything to its end, without a hole.
  auto places = begins;
  const std::vector<Entry> all = checker.Since(places);
  EXPECT_EQ(places, ends);

  // From the middle: just what is behind it.
  for (const Entry& entry : all) {
    std::map<Lane, std::uint64_t> one = {{entry.lane, entry.to}};
    const std::vector<Entry> rest = checker.Since(one);
    for (const Entry& after : rest) EXPECT_GE(after.from, after.lane == entry.lane ? entry.to : 0);
    EXPECT_EQ(one[entry.lane], ends.at(entry.lane));
    if (&entry - all.data() > 20) break;
  }

  // From the end: no entries (but perhaps news).
  places = ends;
  for (const Entry& entry : checker.Since(places)) EXPECT_EQ(entry.from, entry.to);

  // Since a time before all of them: the same. Since one that has not come: no entries.
  places = begins;
  std::uint64_t since_long_ago = 0;
  for (const Entry& entry : checker.Since(places, 1)) since_long_ago += entry.to - entry.from;
  EXPECT_EQ(places, ends);
  std::uint64_t from_the_beginning = 0;
  for (const Entry& entry : all) from_the_beginning += entry.to - entry.from;
  EXPECT_EQ(since_long_ago, from_the_beginning);
  places = begins;
  for (const Entry& entry :
       checker.Since(places, absl::ToUnixMicros(absl::Now()) + 3'600'000'000)) {
    if (!record.knows_times) break;
    EXPECT_EQ(entry.from, entry.to) << entry.lane.first << " lane " << entry.lane.second;
  }

  // Nothing is known of these; that is no error.
  for (const std::string& topic : {record.root + "no-such-topic/", std::string("no/such/root/"),
                                   std::string(), std::string("\xff\n\0x", 4), record.root}) {
    std::map<Lane, std::uint64_t> unknown = {{Lane(topic, 7), 3}};
    EXPECT_TRUE(checker.Since(unknown).empty());
  }
  // Positions behind the end neither.
  places = ends;
  for (auto& [lane, position] : places) position += 1'000'000;
  msg::SinceRequestT far;
  for (const auto& [lane, position] : places) {
    auto place = std::make_unique<msg::PlaceT>();
    place->topic = lane.first;
    place->lane = lane.second;
    place->position = position;
    far.places.push_back(std::move(place));
  }
  EXPECT_EQ(record.since(far).status(), absl::OkStatus());
}

}  // namespace bus
