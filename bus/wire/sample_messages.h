#ifndef BUS_WIRE_SAMPLE_MESSAGES_H_
#define BUS_WIRE_SAMPLE_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace bus {

struct SampleMessage {
  std::string name;  // "Reply of SinceReply"
  std::vector<std::uint8_t> bytes;
};

// Good messages of every kind and with every type of body, made from the binary schema, so that a
// new type is among them by itself: every field of every table is set, every list has two entries,
// and each RecordedEvent holds an Event. The same ones each time.
std::vector<SampleMessage> SampleMessages();

// Tables within tables, the envelope's own counted. Ends the program if one may hold itself.
int DeepestNesting();

// bus/schema/envelope.bfbs has to be among the runfiles.
inline constexpr char kSchemaPath[] = "bus/schema/envelope.bfbs";

}  // namespace bus

#endif  // BUS_WIRE_SAMPLE_MESSAGES_H_
