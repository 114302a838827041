#ifndef DATAMANAGER_ANSWER_RUN_ANSWERS_H_
#define DATAMANAGER_ANSWER_RUN_ANSWERS_H_

// Answers of the calls about whole runs: Files, HParams, Lineage and ReadGraph. Each answer has one
// part.
//
// `source` is not owned and must outlive the makers. Errors: those of SeriesSelection about runs;
// NotFound if a named run does not exist.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/answer/answer.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/read/run_data.h"

namespace datamanager {

// A page of runs or files that reaches this size ends early; `next` then says where to continue.
inline constexpr std::size_t kMaxPageBytes = std::size_t{8} << 20;
// A larger graph can only be read as a blob.
inline constexpr std::uint64_t kMaxGraphBytes = std::uint64_t{256} << 20;

// Converts a listed file; `read` is the data that was read of it, null if none was.
msg::RunFileT FileMessage(const ListedFile& listed, const RunFileData* read);

// Returns the files of a run by name, with their faults as far as the files were read; does not
// wait for more. `faults` has the faults of files that were removed.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::FilesReplyT>>> MakeFilesAnswer(
    const msg::FilesRequestT& request, RunSource* source);

// Returns hyperparameters and metrics of the selected runs (hparams_messages.h). Waits until the
// runs' tags are known.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::HParamsReplyT>>> MakeHParamsAnswer(
    const msg::HParamsRequestT& request, RunSource* source);

// Returns the lineage of the selected runs (run_lineage.h); a run without lineage has only its
// name.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::LineageReplyT>>> MakeLineageAnswer(
    const msg::LineageRequestT& request, RunSource* source);

// Returns a page of a graph (graph_page.h): of the newest graph with the tag "__run_graph__", or of
// the file `*.pb` whose name is the tag; without a tag, of the first of these that the run has.
// NotFound: the run has no such graph; ResourceExhausted: over kMaxGraphBytes; DataLoss: the file
// has changed, and the graph is no longer in its place.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ReadGraphReplyT>>> MakeGraphAnswer(
    const msg::ReadGraphRequestT& request, RunSource* source);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_RUN_ANSWERS_H_
