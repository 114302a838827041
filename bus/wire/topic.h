#ifndef BUS_WIRE_TOPIC_H_
#define BUS_WIRE_TOPIC_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace bus {

// A topic consists of levels of [A-Za-z0-9_.$-], each followed by "/", and no level is "." or "..".
// It has at most 8 levels and 200 bytes. ("m/exp-1/loss/"; because of the final "/", the prefix
// "m/exp-1/" never matches "m/exp-10/".)

inline constexpr std::size_t kMaxTopicBytes = 200;
inline constexpr int kMaxTopicLevels = 8;

// Returns InvalidArgument, which says what is wrong and where, for an illegal topic.
absl::Status CheckTopic(std::string_view topic);

// Encodes any text, such as a run's or tag's name, as one level: every illegal byte (and each dot
// of "." and "..") becomes "$XX". A level over 80 bytes is cut to 80, followed by "$" and 8
// hexadecimal digits of the text's hash.
std::string EncodeLevel(std::string_view text);
// Undoes EncodeLevel() for a level that was not cut; returns a cut level unchanged.
std::string DecodeLevel(std::string_view level);

// Joins levels, each encoded: TopicOf({"m", run, tag}) == "m/RUN/TAG/".
std::string TopicOf(std::initializer_list<std::string_view> levels);

}  // namespace bus

#endif  // BUS_WIRE_TOPIC_H_
