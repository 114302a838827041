#ifndef LAUNCHER_NODE_FILES_REPORT_PATHS_H_
#define LAUNCHER_NODE_FILES_REPORT_PATHS_H_

#include <optional>
#include <string>
#include <string_view>

namespace launcher {

// Translates the paths in the lines of a report channel (docs/report-channel.md) if the program and
// the trainer have the run directory at different paths. Pure functions: they change the one path
// in a line, and keep all other bytes.

struct RunPlaces {
  std::string launcher;  // The run directory as the trainer names it.
  std::string node;      // The run directory as the program names it.
};

// Return `path` with one run directory replaced by the other; unchanged if it is not below the run
// directory.
std::string AtLauncher(const RunPlaces& places, const std::string& path);
std::string AtNode(const RunPlaces& places, const std::string& path);

// Returns the directory that a line of a program saves: `path` of ckpt_end, `ckpt` of a report;
// nullopt if it saves nothing.
std::optional<std::string> SavedPath(std::string_view line);
// Returns that line with another path.
std::string WithSavedPath(std::string_view line, const std::string& path);
// Returns the line that is sent to the trainer instead if the directory could not be copied.
std::string FailedSave(std::string_view line, const std::string& path, const std::string& error);

// An answer of the trainer, translated for the program.
struct AnswerAtNode {
  std::string text;
  std::string directory;  // The directory in the answer to ckpt_dir, as the node names it.
  std::string saved;      // The checkpoint that an ok reports as committed, as the node names it.
};
// Translates an answer of the trainer.
AnswerAtNode AnswerFor(const RunPlaces& places, std::string_view answer);

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_REPORT_PATHS_H_
