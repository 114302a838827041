#ifndef DATAMANAGER_ANSWER_RUN_ANSWERS_H_
#define DATAMANAGER_ANSWER_RUN_ANSWERS_H_

// Answers of the calls about whole runs: Files, HParams, Lineage and ReadGraph. Each answer has one
// part.
//
// `source` is not owned, and lives as long as the makers. Errors: those of SeriesSelection about
// runs; a run that is named and is not there is NotFound.

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

// A page of runs or files ends early when it is so large; `next` then says where to go on.
inline constexpr std::size_t kMaxPageBytes = std::size_t{8} << 20;
// A larger graph is read as a blob.
inline constexpr std::uint64_t kMaxGraphBytes = std::uint64_t{256} << 20;

// A file as it is listed; `read` is the data that was read of the file, null if none was.
msg::RunFileT FileMessage(const ListedFile& listed, const RunFileData* read);

// The files of a run by name, with what is wrong with them, as far as they were read: the caller
// does not wait. Faults of files that are gone stand in `faults`.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::FilesReplyT>>> MakeFilesAnswer(
    const msg::FilesRequestT& request, RunSource* source);

// Hyperparameters and metrics of the selected runs (hparams_messages.h). Waits until the tags of a
// run are known.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::HParamsReplyT>>> MakeHParamsAnswer(
    const msg::HParamsRequestT& request, RunSource* source);

// Lineage of the selected runs (run_lineage.h); a run without lineage has its name and nothing
// else.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::LineageReplyT>>> MakeLineageAnswer(
    const msg::LineageRequestT& request, RunSource* source);

// A page of a graph (graph_page.h): of the newest graph with the tag "__run_graph__", or of a file
// `*.pb`, whose name is the tag; without a tag, of the first of these that the run has. NotFound:
// the run has no such graph; ResourceExhausted: over kMaxGraphBytes; DataLoss: the graph is not
// where it was.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ReadGraphReplyT>>> MakeGraphAnswer(
    const msg::ReadGraphRequestT& request, RunSource* source);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_RUN_ANSWERS_H_
