#ifndef DATAMANAGER_FIND_FILE_KIND_H_
#define DATAMANAGER_FIND_FILE_KIND_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace datamanager {

// The kind of a file in a log directory, by its name alone.
//
// Re-imagines what TensorBoard and MindInsight look for. It differs in two rules: a name with
// "tfevents" is TensorBoard's even if "summary.NUMBER" stands in it somewhere (a host may be called
// so), unless it is all of MindSpore's ".out.events.summary."; and the files of an exported
// TensorFlow model (saved_model.pb and two more), which MindInsight takes for graphs, are none.
//
// Files through which an event file is copied have no kind either: a hidden file (rsync's
// ".NAME.Ab12Cd", "._NAME" of macOS) and the temporary names of programs that copy ("NAME.part",
// "NAME~"). They hold points that the file itself has, or will have.
enum class FileKind : std::uint8_t {
  kNone,
  kTensorBoard,       // Events.
  kProfileMarker,     // Makes its directory a run, and holds nothing.
  kMindSpore,         // A summary file.
  kMindSporeLineage,  // Lineage records of a run.
  kMindSporeExplain,  // Records of an explainer, which is no training.
  kMindSporeGraph,    // A graph as a ModelProto.
};

struct FileName {
  FileKind kind = FileKind::kNone;
  std::optional<std::int64_t> created_s;  // Seconds since 1970, if the name says so.
  // MindSpore's device or rank id. Older releases have none; if the host's name begins with a
  // number and a dot, that is taken for it.
  std::optional<std::uint32_t> rank;
};

// `name`: the last part of a path. Any bytes.
FileName ParseFileName(std::string_view name);

// Hidden, as the dot at its beginning says: a file or directory that a program keeps for itself.
bool IsHidden(std::string_view name);

// The name without its random suffix (".6eF7ab01"), which the AWS tools give a file that they write
// beside the one that they will replace; empty if the name has no such suffix. Such a file is no
// event file as long as there is one of the name without the suffix.
std::string_view NameBesideWhichItIsACopy(std::string_view name);

// The order in which the files of a run are read: that of their names, in which numbers count as
// numbers, so that the 9th file of a writer (".9") comes before its 10th. (TensorBoard compares
// texts alone.)
struct ReadBefore {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

// A directory that directly holds a file of such a kind is a run.
bool MakesARun(FileKind kind);
// A file of such a kind is read.
bool HoldsData(FileKind kind);

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_FILE_KIND_H_
