#ifndef BUS_WIRE_SAMPLE_MESSAGES_H_
#define BUS_WIRE_SAMPLE_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
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

// Whether a list of 8-byte numbers lies at an address that is no multiple of 8 in these bytes,
// which Receive() takes. The verifier of FlatBuffers 2.0 looks at where the length of a list lies,
// and not at where its numbers lie; no builder makes such a message. Processors that the yard runs
// on read such numbers all the same, and a sanitizer says that C++ does not promise it.
bool HasNumbersOutOfLine(std::span<const std::uint8_t> bytes, std::size_t limit);

// bus/schema/envelope.bfbs has to be among the runfiles.
inline constexpr char kSchemaPath[] = "bus/schema/envelope.bfbs";

}  // namespace bus

#endif  // BUS_WIRE_SAMPLE_MESSAGES_H_
