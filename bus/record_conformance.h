#ifndef BUS_RECORD_CONFORMANCE_H_
#define BUS_RECORD_CONFORMANCE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"

namespace bus {

// An owner of topics, by what it answers.
struct RecordUnderTest {
  std::function<absl::StatusOr<msg::EndsReplyT>(const msg::EndsRequestT&)> ends;
  std::function<absl::StatusOr<msg::SinceReplyT>(const msg::SinceRequestT&)> since;
  std::string root;         // "t/"
  bool knows_times = true;  // Of each entry; else what is older than was asked for may come too.
};

// What every owner promises of Common.Ends and Common.Since, on the record as it is now; nothing
// may be added meanwhile. There must be at least one entry. GoogleTest failures say what is not
// so.
void ExpectConformingRecord(const RecordUnderTest& record);

}  // namespace bus

#endif  // BUS_RECORD_CONFORMANCE_H_
