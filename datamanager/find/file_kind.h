#ifndef DATAMANAGER_FIND_FILE_KIND_H_
#define DATAMANAGER_FIND_FILE_KIND_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace datamanager {

// Classifies the files of a log directory by their names alone.
//
// Re-imagines the rules of TensorBoard and MindInsight, with two differences. A name with
// "tfevents" is TensorBoard's even if it contains "summary.NUMBER" (a host may have such a name),
// unless that is MindSpore's ".out.events.summary.". And the files of an exported TensorFlow model
// (saved_model.pb and two more), which MindInsight takes for graphs, are ignored.
//
// Intermediate copies of an event file are ignored too: hidden files (rsync's ".NAME.Ab12Cd",
// "._NAME" of macOS) and the temporary names of copying programs ("NAME.part", "NAME~"). Their
// points are, or will be, in the file itself.
enum class FileKind : std::uint8_t {
  kNone,
  kTensorBoard,       // An event file.
  kProfileMarker,     // Makes its directory a run, and contains no data.
  kMindSpore,         // A summary file.
  kMindSporeLineage,  // Lineage records of a run.
  kMindSporeExplain,  // Records of an explainer, which is not a training.
  kMindSporeGraph,    // A graph as a ModelProto.
};

// Facts that a file's name contains.
struct FileName {
  FileKind kind = FileKind::kNone;
  std::optional<std::int64_t> created_s;  // Seconds since 1970, if in the name.
  // MindSpore's device or rank id. Older releases have none; a host name that begins with a number
  // and a dot is then misread as one.
  std::optional<std::uint32_t> rank;
};

// `name`: the last component of a path; any bytes.
FileName ParseFileName(std::string_view name);

// True if the name begins with a dot: a file or directory that a program keeps for itself.
bool IsHidden(std::string_view name);

// Returns the name without the random suffix (".6eF7ab01") that the AWS tools give a file which
// they write beside the one to be replaced; empty if the name has no such suffix. While a file
// without the suffix exists, the file with it is not an event file.
std::string_view NameBesideWhichItIsACopy(std::string_view name);

// The order in which a run's files are read: by name, comparing numbers as numbers, so that a
// writer's 9th file (".9") precedes its 10th. (TensorBoard compares only texts.)
struct ReadBefore {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

// True if a directory that directly contains such a file is a run.
bool MakesARun(FileKind kind);
// True if such a file is read.
bool HoldsData(FileKind kind);

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_FILE_KIND_H_
