#ifndef DATAMANAGER_ANSWER_VALUE_MESSAGES_H_
#define DATAMANAGER_ANSWER_VALUE_MESSAGES_H_

// Stored values that are no scalars, as answers have them: from the bytes in an event file to the
// tables of bus/schema/datamanager.fbs. Pure functions; any thread.
//
// Re-imagined: what TensorBoard's plugins and MindInsight's data_visual processors answer, without
// their samples and their limits of 100,000 numbers and 90 buckets. A tensor that is too large for
// one message is cut and says so; any other value that is too large is refused and can be had as
// bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "eventlog/event.h"

namespace datamanager {

// One value and the facts about its tag. Views into memory of the caller, which has read the file.
struct StoredValue {
  std::string_view plugin;  // The tag's plugin.
  eventlog::DataClass data_class = eventlog::DataClass::kUnknown;
  // kNone with a length: a part of an event beside its summary, a graph for instance.
  eventlog::ValueKind kind = eventlog::ValueKind::kNone;
  std::int64_t step = 0;
  double wall_time = 0;      // Seconds since 1970.
  std::string_view file;     // Name within the run,
  std::uint64_t offset = 0;  // and the message of the kind in it.
  std::uint64_t length = 0;
  std::uint32_t crc = 0;        // CRC-32C of it.
  std::string_view bytes = {};  // The message, if NeedsBytes().
};

struct ValueOptions {
  std::string slice = {};              // Slice of tensors; eventlog/tensor_slice.h.
  std::uint64_t max_values = 100'000;  // Limit of one tensor; at most kMaxTensorValues.
  bool references = false;             // Where the values are, instead of what they are.
  bool statistics_only = false;        // Tensors without their elements.
  bool python_histograms = false;      // eventlog::AsTensorBoardShowsIt().
};

// These limits keep a value below about 4 MiB in a message.
inline constexpr std::uint64_t kMaxTensorValues = 400'000;
inline constexpr std::uint64_t kMaxLandscapeValues = 40'000;  // Limit of each of its nine tensors.
inline constexpr std::size_t kMaxTextBytes = std::size_t{3} << 20;
inline constexpr std::size_t kMaxAnsweredBuckets = 100'000;
inline constexpr std::size_t kMaxAnsweredBlobs = 2'000;

// False if the answer only says where the value is.
bool NeedsBytes(const StoredValue& value, const ValueOptions& options);

// Appends the value to one of the lists of `reply`: images, sounds and other sequences of blobs as
// `blobs`, each with its place in the file; histograms as `histograms`; MindSpore's landscapes as
// `landscapes`; everything else, also texts, curves and meshes, as `tensors`. Returns about how
// many bytes that takes in a message. InvalidArgument: the bytes are not what they should be, or
// the slice is not one of that tensor; ResourceExhausted: the value is over a limit above. Then
// nothing was appended.
absl::StatusOr<std::size_t> AppendValue(const StoredValue& value, const ValueOptions& options,
                                        msg::ReadValuesReplyT* reply);
// Appends the place of the whole value, as one blob.
std::size_t AppendReference(const StoredValue& value, msg::ReadValuesReplyT* reply);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_VALUE_MESSAGES_H_
