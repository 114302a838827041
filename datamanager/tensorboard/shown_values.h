#ifndef DATAMANAGER_TENSORBOARD_SHOWN_VALUES_H_
#define DATAMANAGER_TENSORBOARD_SHOWN_VALUES_H_

// Converts values for TensorBoard's dashboards: always to the new style, whatever the file
// contains. Pure; any thread.
//
// Follows TensorBoard's data_compat.py. MindSpore's values are converted to those of the
// corresponding TensorBoard plugins.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "datamanager/read/run_data.h"
#include "eventlog/event.h"

namespace datamanager::tensorboard {

// Returns TensorBoard's plugin for the values of a tag. `mindspore`: the run has a summary file of
// MindSpore, whose plugin names are singular.
std::string_view ShownPlugin(const RunData::Tag& tag, bool mindspore);
// Returns the data class under which that plugin lists and reads the tag; kUnknown: not at all.
eventlog::DataClass ShownClass(const RunData::Tag& tag);
// Return the plugin's content and the display name from a tag's metadata. TensorBoard supplies them
// for values of the old style; without the encoding of old sounds a browser would not play them.
std::string_view ShownContent(const RunData::Tag& tag);
std::string_view ShownDisplayName(const RunData::Tag& tag, std::string_view name);

// Below, `form` is ValuePlace::form, and `plugin` is the tag's own (RunData::Tag).

// Converts to a TensorProto. InvalidArgument if that is impossible.
absl::StatusOr<std::string> TensorOf(std::uint8_t form, std::string_view bytes);

// Returns the number of blobs in a value. Images have two more, because their width and height come
// first, as text.
absl::StatusOr<std::size_t> BlobCount(std::uint8_t form, std::string_view plugin,
                                      std::string_view bytes);
// Returns one blob of the value. NotFound: the value has fewer blobs.
absl::StatusOr<std::string> BlobAt(std::uint8_t form, std::string_view plugin,
                                   std::string_view bytes, std::uint64_t index);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_SHOWN_VALUES_H_
