#ifndef DATAMANAGER_ANSWER_VALUE_ANSWER_H_
#define DATAMANAGER_ANSWER_VALUE_ANSWER_H_

// ReadValues and ReadBlob: values other than scalars, read from the runs' files on request. No lock
// is held while reading.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/answer/answer.h"
#include "datamanager/catalog/run_source.h"

namespace datamanager {

// Approximate size of a part; a larger value is a part by itself.
inline constexpr std::size_t kPartBytes = std::size_t{256} << 10;
inline constexpr std::size_t kPartValues = 500;
// A longer value is answered as a place in the file and not decoded.
inline constexpr std::uint64_t kMaxDecodedBytes = std::uint64_t{64} << 20;

// Returns values of several tags of several runs, in the order of runs, tags and steps; a part has
// values of one tag. A value that is damaged, too large, or no longer in its place is counted as
// refused, with the reason for the first; the answer contains all other values. `slice` and the
// other options are checked value by value.
//
// Errors: those of MakeScalarAnswer(). `source` is not owned and must outlive the maker.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ReadValuesReplyT>>> MakeValueAnswer(
    const msg::ReadValuesRequestT& request, RunSource* source);

// Returns the bytes of a blob in parts, each with its offset; the last part is empty.
// InvalidArgument: the blob names no file or is too long; NotFound: the run does not exist or has
// no such file; DataLoss: the file no longer contains those bytes. Opens only files of the run.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ReadBlobReplyT>>> MakeBlobAnswer(
    const msg::ReadBlobRequestT& request, RunSource* source);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_VALUE_ANSWER_H_
