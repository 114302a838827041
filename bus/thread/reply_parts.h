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

// A large answer of a method that does not stream travels as several messages: ReplyParts with
// consecutive ranges of its lists (the vectors at the top level of its table; those of equal
// length are cut at the same places) and then the Reply with the rest of them and every other
// field. A caller that puts all lists together in the order of arrival has the answer.

inline constexpr std::size_t kMaxPartBytes = 256 << 10;
inline constexpr unsigned kMaxPartTables = 2000;

// Limits of an answer as a whole. An entry is an element of its longest list (of bytes, any
// number).
inline constexpr std::size_t kMaxAnswerBytes = 64 << 20;
inline constexpr std::size_t kMaxAnswerEntries = 1'000'000;

struct ReplyFrames {
  std::vector<Frame> parts;  // Empty unless the answer is large.
  Frame reply;
  std::size_t bytes() const;
};

// The messages in which `reply` goes to call `corr`; what they carry is moved out of `reply`
// where it is large. With `in_parts` false always one message. ResourceExhausted if it is over a
// limit that cannot be helped; `method` is named then.
absl::StatusOr<ReplyFrames> EncodeReply(msg::EnvelopeT& reply, std::uint64_t corr, bool in_parts,
                                        std::string_view method);

// Puts the messages of one answer together.
class ReplyMerge {
 public:
  // `bytes`: size of its frame. ResourceExhausted over the limits of an answer.
  absl::Status Add(msg::BodyUnion part, std::size_t bytes);
  // Makes the last message the whole answer.
  absl::Status Finish(msg::BodyUnion& reply, std::size_t bytes);
  // The parts until now are of no use: the answer begins anew.
  void Reset() { *this = ReplyMerge(); }

 private:
  absl::Status Count(const msg::BodyUnion& body, std::size_t bytes);

  msg::BodyUnion merged_;  // None: no part has come.
  std::size_t bytes_ = 0;
  std::size_t entries_ = 0;
};

}  // namespace bus

#endif  // BUS_THREAD_REPLY_PARTS_H_
