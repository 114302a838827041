#ifndef TOOLS_YARD_EVENT_EVENT_REPLAY_H_
#define TOOLS_YARD_EVENT_EVENT_REPLAY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "tools/yard/event/event_dump.h"

namespace yard {

// Reads the events of a dump for publishing them again, each with its due time. One thread.
class EventReplay {
 public:
  struct Options {
    std::string path = {};
    // Prefix of each topic: "e/again/" turns "t/t-abcde/" into "e/again/t/t-abcde/". If empty,
    // topics stay unchanged.
    std::string root = {};
    double speed = 1;  // Factor of the original pace; 0 publishes all at once.
    double rate = 0;   // If set, events per second instead of `speed`.
  };
  struct Event {
    std::unique_ptr<msg::NewEventT> event;
    absl::Duration due;  // Relative to the first event.
  };
  // Opens the dump; errors of EventDumpReader::Open().
  static absl::StatusOr<EventReplay> Open(Options options);

  // Returns the next event; nothing at the end. PermissionDenied if its topic has an owner and
  // there is no root; InvalidArgument if it is no bus message; DataLoss as in event_dump.h. Errors
  // name the event.
  absl::StatusOr<std::optional<Event>> Next();
  // True if the last event is incomplete.
  bool torn() const { return reader_->torn(); }

 private:
  EventReplay(Options options, std::unique_ptr<EventDumpReader> reader)
      : options_(std::move(options)), reader_(std::move(reader)) {}
  absl::StatusOr<Event> EventOf(const DumpedEvent& dumped);
  absl::Duration DueOf(std::int64_t time_us);

  Options options_;
  std::unique_ptr<EventDumpReader> reader_;
  std::uint64_t events_ = 0;
  std::int64_t first_us_ = 0;
  absl::Duration last_due_ = absl::ZeroDuration();
};

}  // namespace yard

#endif  // TOOLS_YARD_EVENT_EVENT_REPLAY_H_
