#ifndef BUS_CALL_RECORD_PAGE_H_
#define BUS_CALL_RECORD_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "bus/schema/envelope_generated.h"

namespace bus {

// Collects one page of a topic owner's answer to Common.Ends or Common.Since, within the limits of
// a page. A caller requests page after page, so that the owner keeps no state for it and every
// answer is small.
//
// A Since handler adds events until Add() returns false, then returns Take(). It visits the places
// in the order of the request, and each lane in the order of its entries.
class SincePage {
 public:
  static constexpr std::size_t kMaxBytes = 128 << 10;
  static constexpr std::size_t kMaxEvents = 1000;

  // Returns false if the page is full: `event` belongs on the next page. (An empty page takes any
  // event.)
  bool Add(std::string_view topic, const msg::Span& span, msg::EnvelopeT event);
  // `body` is a table of the schemas, such as msg::TrialEventT.
  template <typename Body>
  bool Add(std::string_view topic, const msg::Span& span, Body body) {
    if (full_) return false;
    msg::EnvelopeT event;
    event.body.Set(std::move(body));
    return Add(topic, span, std::move(event));
  }
  // Call it before a lane's first event if the request has since_us: entries of that time or later
  // begin after `position`. Without this call the subscriber counts all entries after its requested
  // place as missed.
  bool AddBeginning(std::string_view topic, std::uint64_t lane, std::uint64_t position) {
    return Add(topic, msg::Span(lane, position, position), msg::EnvelopeT());
  }
  // The same for an encoded event.
  bool AddEncoded(std::string_view topic, std::string_view envelope);

  bool full() const { return full_; }
  msg::SinceReplyT Take() { return std::move(reply_); }

 private:
  msg::SinceReplyT reply_;
  std::size_t bytes_ = 0;
  bool full_ = false;
};

class EndsPage {
 public:
  static constexpr std::size_t kMaxPlaces = 1000;

  explicit EndsPage(msg::EndsRequestT request) : request_(std::move(request)) {}

  // Call it with topics in ascending order, and with all lanes of a topic together. Skips topics
  // that the request does not ask for. Returns false if the page is full.
  bool Add(const std::string& topic, std::uint64_t lane, std::uint64_t position);

  msg::EndsReplyT Take() { return std::move(reply_); }

 private:
  const msg::EndsRequestT request_;
  msg::EndsReplyT reply_;
};

}  // namespace bus

#endif  // BUS_CALL_RECORD_PAGE_H_
