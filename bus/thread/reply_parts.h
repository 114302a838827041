#ifndef BUS_THREAD_REPLY_PARTS_H_
#define BUS_THREAD_REPLY_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"
#include "bus/wire/frame.h"

namespace bus {

// A large answer of a method that does not stream is sent as several messages: ReplyParts with
// consecutive ranges of its lists (the vectors at the top level of its table; lists of equal length
// are cut at the same places), then the Reply with the remaining entries and all other fields. A
// caller that joins the lists in the order of arrival has the answer.

inline constexpr std::size_t kMaxPartBytes = 256 << 10;
inline constexpr unsigned kMaxPartTables = 2000;

// Limits of a whole answer. An entry is an element of its longest list; byte vectors do not count,
// so a text or a blob may have any number of elements within the byte limit.
inline constexpr std::size_t kMaxAnswerBytes = 64 << 20;
inline constexpr std::size_t kMaxAnswerEntries = 1'000'000;

struct ReplyFrames {
  std::vector<Frame> parts;  // Empty unless the answer is large.
  Frame reply;
  std::size_t bytes() const;
};

// Encodes `reply` to call `corr` as one or more messages; moves the contents of a large `reply`
// into them. With `in_parts` false the result is always one message. ResourceExhausted, which names
// `method`, if the answer exceeds a limit all the same.
absl::StatusOr<ReplyFrames> EncodeReply(msg::EnvelopeT& reply, std::uint64_t corr, bool in_parts,
                                        std::string_view method);

// Joins the messages of one answer.
class ReplyMerge {
 public:
  // Adds a part. `bytes`: size of its frame. ResourceExhausted over the limits of an answer.
  absl::Status Add(msg::BodyUnion part, std::size_t bytes);
  // Adds all parts to `reply`, the last message, which becomes the whole answer.
  absl::Status Finish(msg::BodyUnion& reply, std::size_t bytes);
  // Drops the parts so far: the answer starts again.
  void Reset() { *this = ReplyMerge(); }

 private:
  absl::Status Count(const msg::BodyUnion& body, std::size_t bytes);

  msg::BodyUnion merged_;  // NONE: no part has arrived.
  std::size_t bytes_ = 0;
  std::size_t entries_ = 0;
};

}  // namespace bus

#endif  // BUS_THREAD_REPLY_PARTS_H_
