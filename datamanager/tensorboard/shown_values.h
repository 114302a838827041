#ifndef DATAMANAGER_TENSORBOARD_SHOWN_VALUES_H_
#define DATAMANAGER_TENSORBOARD_SHOWN_VALUES_H_

// Values as TensorBoard's dashboards want them: new style, whatever stands in the file. Pure; any
// thread.
//
// As data_compat.py does it for TensorBoard. MindSpore's values become those of the plugins that
// show the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "datamanager/read/run_data.h"
#include "eventlog/event.h"

namespace datamanager::tensorboard {

// TensorBoard's plugin for the values of a tag. `mindspore`: the run has a summary file of
// MindSpore, whose names are in the singular.
std::string_view ShownPlugin(const RunData::Tag& tag, bool mindspore);
// Data class under which list and read of that plugin show the tag; kUnknown: in none.
eventlog::DataClass ShownClass(const RunData::Tag& tag);
// The plugin's content and the display name from a tag's metadata. TensorBoard makes up those of
// values of the old style; without the encoding of old sounds a browser would not play them.
std::string_view ShownContent(const RunData::Tag& tag);
std::string_view ShownDisplayName(const RunData::Tag& tag, std::string_view name);

// `form` is ValuePlace::form, `plugin` the tag's own (of RunData::Tag).

// A TensorProto. InvalidArgument: the bytes cannot become a TensorProto.
absl::StatusOr<std::string> TensorOf(std::uint8_t form, std::string_view bytes);

// Number of blobs in a value. Images have two more, because their width and height come first, as
// text.
absl::StatusOr<std::size_t> BlobCount(std::uint8_t form, std::string_view plugin,
                                      std::string_view bytes);
// Returns a blob of the value. NotFound: the value has fewer blobs.
absl::StatusOr<std::string> BlobAt(std::uint8_t form, std::string_view plugin,
                                   std::string_view bytes, std::uint64_t index);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_SHOWN_VALUES_H_
