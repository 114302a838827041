#ifndef DATAMANAGER_ANSWER_VALUE_MESSAGES_H_
#define DATAMANAGER_ANSWER_VALUE_MESSAGES_H_

// Converts stored values other than scalars for answers: from the bytes in an event file to the
// tables of bus/schema/datamanager.fbs. Pure functions; any thread.
//
// Re-imagined: the answers of TensorBoard's plugins and MindInsight's data_visual processors,
// without their sampling and their limits of 100,000 numbers and 90 buckets. A tensor that is too
// large for one message is cut and marked as cut; any other value that is too large is refused and
// can be read as bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "eventlog/event.h"

namespace datamanager {

// One value and facts about its tag. Views into memory of the caller, which has read the file.
struct StoredValue {
  std::string_view plugin;  // The tag's plugin.
  eventlog::DataClass data_class = eventlog::DataClass::kUnknown;
  // kNone with a length: a part of an event outside its summary, such as a graph.
  eventlog::ValueKind kind = eventlog::ValueKind::kNone;
  std::int64_t step = 0;
  double wall_time = 0;      // Seconds since 1970.
  std::string_view file;     // Name within the run.
  std::uint64_t offset = 0;  // Offset of the kind's message in the file.
  std::uint64_t length = 0;
  std::uint32_t crc = 0;        // CRC-32C of the message.
  std::string_view bytes = {};  // The message, if NeedsBytes().
};

struct ValueOptions {
  std::string slice = {};              // Slice of tensors; see eventlog/tensor_slice.h.
  std::uint64_t max_values = 100'000;  // Limit of one tensor; at most kMaxTensorValues.
  bool references = false;             // Return places in files instead of values.
  bool statistics_only = false;        // Return tensors without their elements.
  bool python_histograms = false;      // See eventlog::AsTensorBoardShowsIt().
};

// With these limits a value takes less than about 4 MiB in a message.
inline constexpr std::uint64_t kMaxTensorValues = 400'000;
inline constexpr std::uint64_t kMaxLandscapeValues = 40'000;  // Limit of each of its nine tensors.
inline constexpr std::size_t kMaxTextBytes = std::size_t{3} << 20;
inline constexpr std::size_t kMaxAnsweredBuckets = 100'000;
inline constexpr std::size_t kMaxAnsweredBlobs = 2'000;

// False if the answer only says where the value is.
bool NeedsBytes(const StoredValue& value, const ValueOptions& options);

// Appends the value to a list of `reply`: images, sounds and other sequences of blobs to `blobs`,
// each with its place in the file; histograms to `histograms`; MindSpore's landscapes to
// `landscapes`; everything else, including texts, curves and meshes, to `tensors`. Returns its
// approximate size in a message. On an error nothing was appended: InvalidArgument if the bytes are
// malformed or the slice does not fit the tensor; ResourceExhausted if the value exceeds a limit
// above.
absl::StatusOr<std::size_t> AppendValue(const StoredValue& value, const ValueOptions& options,
                                        msg::ReadValuesReplyT* reply);
// Appends the place of the whole value, as one blob.
std::size_t AppendReference(const StoredValue& value, msg::ReadValuesReplyT* reply);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_VALUE_MESSAGES_H_
