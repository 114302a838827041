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

// The events of a dump, to be published again, each with its time. One thread.
class EventReplay {
 public:
  struct Options {
    std::string path = {};
    // Put before each topic: "e/again/" makes "e/again/t/t-abcde/" of "t/t-abcde/". Empty: they
    // keep theirs.
    std::string root = {};
    double speed = 1;  // Pace as a factor of the original one; 0: all at once.
    double rate = 0;   // Instead: events a second.
  };
  struct Event {
    std::unique_ptr<msg::NewEventT> event;
    absl::Duration due;  // After the first.
  };
  static absl::StatusOr<EventReplay> Open(Options options);

  // Nothing: that was the last one. PermissionDenied: its topic has an owner, and there is no root.
  // InvalidArgument: it is no message of the bus. DataLoss: see event_dump.h. All say which one.
  absl::StatusOr<std::optional<Event>> Next();
  // The last one was not whole.
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
