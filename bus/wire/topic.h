#ifndef BUS_WIRE_TOPIC_H_
#define BUS_WIRE_TOPIC_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace bus {

// A topic is levels of [A-Za-z0-9_.$-], each followed by "/", none of them "." or "..": at most 8
// levels and 200 bytes.
// ("m/exp-1/loss/"; so the prefix "m/exp-1/" never matches "m/exp-10/".)

inline constexpr std::size_t kMaxTopicBytes = 200;
inline constexpr int kMaxTopicLevels = 8;

// InvalidArgument says what is wrong and where.
absl::Status CheckTopic(std::string_view topic);

// Makes one level of any text, such as a run or a tag: every other byte (and the dots of "." and
// "..") becomes "$XX", and over
// 80 bytes it is cut to 80 + "$" + 8 hexadecimal digits of its hash.
std::string EncodeLevel(std::string_view text);
// Undoes EncodeLevel for a level that was not cut; a cut one comes back as it is.
std::string DecodeLevel(std::string_view level);

// TopicOf({"m", run, tag}) == "m/RUN/TAG/", each level encoded.
std::string TopicOf(std::initializer_list<std::string_view> levels);

}  // namespace bus

#endif  // BUS_WIRE_TOPIC_H_
