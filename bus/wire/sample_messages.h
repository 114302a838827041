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

// Returns valid messages of every kind and with every type of body. They are built from the binary
// schema, so that a new type is included automatically. Every field of every table is set, every
// list has two entries, and each RecordedEvent contains an Event. Deterministic.
std::vector<SampleMessage> SampleMessages();

// Returns the deepest nesting of tables, including the envelope's. Aborts if a table may contain
// itself.
int DeepestNesting();

// bus/schema/envelope.bfbs must be among the runfiles.
inline constexpr char kSchemaPath[] = "bus/schema/envelope.bfbs";

}  // namespace bus

#endif  // BUS_WIRE_SAMPLE_MESSAGES_H_
