#include "datamanager/find/file_kind.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace datamanager {
namespace {

struct Row {
  std::string_view name;
  FileKind kind = FileKind::kNone;
  std::optional<std::int64_t> created_s = std::nullopt;
  std::optional<std::uint32_t> rank = std::nullopt;
};

using namespace std::string_view_literals;

const Row kRows[] = {
    // TensorBoard: any name that contains "tfevents".
    {"events.out.tfevents.1596869898.host", FileKind::kTensorBoard, 1596869898},
    {"events.out.tfevents.1596869898.host.1234.0", FileKind::kTensorBoard, 1596869898},
    {"events.out.tfevents.1596869898.host.1234.0.v2", FileKind::kTensorBoard, 1596869898},
    {"events.out.tfevents.1596869898.host.my_suffix", FileKind::kTensorBoard, 1596869898},
    {"tfevents", FileKind::kTensorBoard},
    {"x.tfevents", FileKind::kTensorBoard},
    {"my-tfevents-file", FileKind::kTensorBoard},
    {"events.out.tfevents.host", FileKind::kTensorBoard},
    {"tfevents.a.tfevents.12.b", FileKind::kTensorBoard, 12},
    {"events.out.tfevents.99999999999999999999.host", FileKind::kTensorBoard},
    {"events.out.tfevents.253402300799.host", FileKind::kTensorBoard, 253402300799},
    {"events.out.tfevents.253402300800.host", FileKind::kTensorBoard},
    {"events.out.tfevents.1.\xff\x00\n"sv, FileKind::kTensorBoard, 1},
    {"events.out.tfevents.1.host.profile-empty", FileKind::kProfileMarker, 1},
    {"events.out.tfevents.1.host.profile-empty.2", FileKind::kTensorBoard, 1},
    {"events.out.tfevent.1.host"},
    {"Events.out.TFEVENTS.1.host"},
    // MindSpore: "summary." and digits, anywhere in the name.
    {"events.out.events.summary.1596869898.0.host_MS", FileKind::kMindSpore, 1596869898, 0},
    {"events.out.events.summary.1596869898.7.host_MS", FileKind::kMindSpore, 1596869898, 7},
    {"events.out.events.summary.1596869898.host_MS", FileKind::kMindSpore, 1596869898},
    {"events.out.events.summary.1596869898.0_MS", FileKind::kMindSpore, 1596869898},
    {"events.out.events.summary.1596869898", FileKind::kMindSpore, 1596869898},
    {"mine.out.events.summary.5.1.host.other", FileKind::kMindSpore, 5, 1},
    {"events.out.events.summary.5.99999999.host_MS", FileKind::kMindSpore, 5},
    {"summary.5", FileKind::kMindSpore, 5},
    {"a_summary.5b", FileKind::kMindSpore, 5},
    {"summary.x.summary.6", FileKind::kMindSpore, 6},
    {"summary.99999999999999999999", FileKind::kMindSpore},
    {"events.out.events.summary.5.0.host_MS_lineage", FileKind::kMindSporeLineage, 5, 0},
    {"events.out.events.summary.5.0.host_MS_explain", FileKind::kMindSporeExplain, 5, 0},
    {"events.out.events.summary.5.0.host_lineage_MS", FileKind::kMindSpore, 5, 0},
    {"summary.5.pb", FileKind::kMindSpore, 5},
    {"summary."},
    {"summary5"},
    {"summary.json"},
    {"x_lineage"},
    {"x_explain"},
    // Names that match both.
    {"events.out.tfevents.9.summary.5", FileKind::kTensorBoard, 9},
    {"tfevents.out.events.summary.5.0.host_MS", FileKind::kMindSpore, 5, 0},
    // Graphs.
    {"ms_output_optimize.pb", FileKind::kMindSporeGraph},
    {"graph.pb", FileKind::kMindSporeGraph},
    {"memory_usage_x.pb", FileKind::kMindSporeGraph},
    {"memory_usage_.pb"},
    {"memory_usage_0.pb"},
    {"memory_usage_123.pb"},
    {"saved_model.pb"},
    {"keras_metadata.pb"},
    {"fingerprint.pb"},
    {"graph.pb.txt"},
    {"graph.pbtxt"},
    // Temporary names of copies in progress, and names of backup copies.
    {".events.out.tfevents.1596869898.host.Ab12Cd"},
    {"._events.out.tfevents.1596869898.host"},
    {".syncthing.events.out.tfevents.1596869898.host.tmp"},
    {".events.out.events.summary.5.0.host_MS.x1Y2z3"},
    {".pb"},
    {"events.out.tfevents.1596869898.host~"},
    {"events.out.tfevents.1596869898.host.tmp"},
    {"events.out.tfevents.1596869898.host.part"},
    {"events.out.tfevents.1596869898.host.0a1b2c3d.partial"},
    {"events.out.tfevents.1596869898.host.filepart"},
    {"events.out.tfevents.1596869898.host_.gstmp"},
    {"graph.pb~"},
    {"events.out.tfevents.1596869898.part.host", FileKind::kTensorBoard, 1596869898},
    // Names that match neither.
    {""},
    {"."},
    {"progress.csv"},
    {"result.json"},
    {"checkpoint-5.ckpt"},
};

TEST(FileKindTest, EachRowOfTheTableHolds) {
  for (const Row& row : kRows) {
    const FileName parsed = ParseFileName(row.name);
    EXPECT_EQ(parsed.kind, row.kind) << row.name;
    EXPECT_EQ(parsed.created_s, row.created_s) << row.name;
    EXPECT_EQ(parsed.rank, row.rank) << row.name;
  }
}

TEST(FileKindTest, ARandomSuffixSaysBesideWhatItIsACopy) {
  EXPECT_EQ(NameBesideWhichItIsACopy("x.tfevents.1.host.6eF7ab01"), "x.tfevents.1.host");
  for (const char* name : {"x.tfevents.1.host", "x.tfevents.1.6eF7ab0", "x.tfevents.1.6eF7ab01a",
                           "x.tfevents.1.6eF7ab0g", "6eF7ab01", ".6eF7ab01", ""}) {
    EXPECT_EQ(NameBesideWhichItIsACopy(name), "") << name;
  }
}

TEST(FileKindTest, FilesAreReadInTheOrderOfTheirNamesAndNumbersInThem) {
  const std::vector<std::string_view> order = {
      "",
      "a",
      "a.01",
      "a.1",
      "a.1.x",
      "a.2",
      "a.9",
      "a.10",
      "a.10.v2",
      "a.99999999999999999999",
      "a.100000000000000000000",
      "ab",
      "b.1.9.x",
      "b.1.10.a",
      "b.2",
      "c",
      "c0",
      "tfevents.9",
      "tfevents.10.host",
      "x\xff",
  };
  const ReadBefore before;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t k = 0; k < order.size(); ++k) {
      EXPECT_EQ(before(order[i], order[k]), i < k) << order[i] << " and " << order[k];
    }
  }
}

TEST(FileKindTest, KindsMakeRunsAndHoldData) {
  struct Use {
    FileKind kind;
    bool makes_a_run, holds_data;
  };
  for (const Use& use :
       {Use{FileKind::kNone, false, false}, Use{FileKind::kTensorBoard, true, true},
        Use{FileKind::kProfileMarker, true, false}, Use{FileKind::kMindSpore, true, true},
        Use{FileKind::kMindSporeLineage, true, true},
        Use{FileKind::kMindSporeExplain, false, false},
        Use{FileKind::kMindSporeGraph, true, true}}) {
    EXPECT_EQ(MakesARun(use.kind), use.makes_a_run) << static_cast<int>(use.kind);
    EXPECT_EQ(HoldsData(use.kind), use.holds_data) << static_cast<int>(use.kind);
  }
}

}  // namespace
}  // namespace datamanager
