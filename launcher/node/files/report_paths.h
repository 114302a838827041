#ifndef LAUNCHER_NODE_FILES_REPORT_PATHS_H_
#define LAUNCHER_NODE_FILES_REPORT_PATHS_H_

#include <optional>
#include <string>
#include <string_view>

namespace launcher {

// The paths in the lines of a report channel (docs/report-channel.md), where the program and the
// trainer have the run directory in different places. Pure functions: each line is changed in the
// one path that it is about, and stays byte for byte what it was otherwise.

struct RunPlaces {
  std::string launcher;  // The run directory as the trainer names it.
  std::string node;      // As the program does.
};

// `path` with the one run directory in the place of the other; unchanged if it is not below it.
std::string AtLauncher(const RunPlaces& places, const std::string& path);
std::string AtNode(const RunPlaces& places, const std::string& path);

// The directory that a line of a program wants to be saved: `path` of ckpt_end, `ckpt` of a report.
// Nothing: the line saves nothing.
std::optional<std::string> SavedPath(std::string_view line);
// That line with another path.
std::string WithSavedPath(std::string_view line, const std::string& path);
// The line that goes to the trainer in its place if the directory could not be copied.
std::string FailedSave(std::string_view line, const std::string& path, const std::string& error);

// An answer of the trainer, as the program shall read it.
struct AnswerAtNode {
  std::string text;
  std::string directory;  // The directory of a ckpt_dir, as the node names it.
  std::string saved;      // The checkpoint that an ok says is committed. The same.
};
AnswerAtNode AnswerFor(const RunPlaces& places, std::string_view answer);

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_REPORT_PATHS_H_
