#ifndef DATAMANAGER_ANSWER_VALUE_ANSWER_H_
#define DATAMANAGER_ANSWER_VALUE_ANSWER_H_

// ReadValues and ReadBlob: values that are no scalars, read from the files of their runs as they
// are asked for. No lock is held meanwhile.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/answer/answer.h"
#include "datamanager/catalog/run_source.h"

namespace datamanager {

// About as many bytes go into one part; a larger value is a part by itself.
inline constexpr std::size_t kPartBytes = std::size_t{256} << 10;
inline constexpr std::size_t kPartValues = 500;
// A longer value is given as a place, not looked into.
inline constexpr std::uint64_t kMaxDecodedBytes = std::uint64_t{64} << 20;

// Values of several tags of several runs, in the order of runs, tags and steps; a part has values
// of one tag. A value that is damaged, too large, or not where it was is counted as refused, with
// the reason for the first; all other values are in the answer. `slice` and the rest are looked at
// value by value.
//
// Errors: those of MakeScalarAnswer(). `source` is not owned, and lives as long as the maker.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ReadValuesReplyT>>> MakeValueAnswer(
    const msg::ReadValuesRequestT& request, RunSource* source);

// The bytes of a blob, in parts, each with its offset; the last part has no bytes. InvalidArgument:
// the blob names no file or is too long; NotFound: the run does not exist or has no such file;
// DataLoss: the file does not hold those bytes any more. Only files of the run are ever opened.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ReadBlobReplyT>>> MakeBlobAnswer(
    const msg::ReadBlobRequestT& request, RunSource* source);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_VALUE_ANSWER_H_
