#include "tools/yard/top/view.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/pool/pool_view.h"
#include "tools/yard/text/sparkline.h"
#include "tools/yard/text/table.h"
#include "tools/yard/text/text_width.h"

namespace yard::top {
namespace {

// Minimum screen heights for the parts of the screen.
constexpr int kForKeys = 4, kForServices = 8, kForMetric = 10, kForOutput = 7;
constexpr int kForNodes = 14;
constexpr std::size_t kMostNodes = 4;

constexpr const char* kHelp[] = {
    "up down j k      move; also PgUp PgDn Home End, g G",
    "/                show only what matches: an id, a name, a state; Esc: all",
    "l                output of what is selected",
    "m                the next metric of the selected trial",
    "s                stop what is selected; asks",
    "r                restart the selected job or task; asks",
    "Ctrl-L           draw anew",
    "q                quit; nothing is stopped",
};

// The optional columns that are shown.
struct Shown {
  bool gpu = false, disk = false;
};

// A column of the table; right-aligned if `right`.
struct Column {
  const char* title;
  int width;
  bool right;
};

constexpr Column kGpu = {"GPU", 5, true}, kDisk = {"DISK/S", 9, true};
// Minimum screen widths for these columns.
constexpr int kForGpu = 60, kForDisk = 100;

// The name gets its share of the width, the details the remainder.
std::vector<Column> Columns(int width, const Shown& shown) {
  std::vector<Column> columns = {
      {"NAME", 0, false}, {"STATE", 9, false}, {"AGE", 7, true}, {"CPU", 6, true}};
  if (shown.gpu) columns.push_back(kGpu);
  columns.push_back({"MEMORY", 9, true});
  if (shown.disk) columns.push_back(kDisk);
  columns.push_back({"RESTARTS", 8, true});
  columns.push_back({"DETAILS", 0, false});
  int fixed = 1;
  for (const Column& column : columns) fixed += column.width + 1;
  columns.front().width = std::clamp((width - fixed) * 6 / 10, 12, 40);
  columns.back().width = std::max(width - fixed - columns.front().width, 0);
  return columns;
}

std::string Percent(double cores) {
  return absl::StrFormat("%.0f%%", std::min(cores, 9999.0) * 100);
}

std::string NameCell(const TableRow& row) {
  if (row.kind == TableRow::Kind::kTask) return "  " + row.name;
  return row.title;
}

std::string Details(const TableRow& row, const std::string& wanted) {
  const std::string metric = MetricToShow(row.metrics, wanted);
  if (metric.empty()) return row.note;
  const nlohmann::json value = MetricNumbers(row.metrics)[metric];
  const std::string text = value.is_number_float() ? ShortNumber(value.get<double>())
                           : value.is_string()     ? value.get<std::string>()
                                                   : value.dump();
  return absl::StrCat(metric, " ", text, row.note.empty() ? "" : "  ", row.note);
}

Style StyleOf(const TableRow& row) {
  return row.has_failed ? Style::kBad : row.has_ended ? Style::kDim : Style::kPlain;
}

std::string Count(std::size_t count, const std::string& what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// Returns "  gpu 42% of 200%"; empty if no utilisation is known.
std::string GpuWords(const Facts& facts) {
  double percent = 0;
  std::size_t known = 0;
  for (const auto& gpu : facts.usage.gpus) {
    if (std::isnan(gpu->utilisation)) continue;
    percent += gpu->utilisation;
    ++known;
  }
  if (known == 0) return {};
  return absl::StrCat("  gpu ", Percent(percent / 100), " of ", known * 100, "%");
}

class Drawing {
 public:
  Drawing(const Model& model, const ViewOptions& options)
      : model_(model), options_(options), screen_(options.width, options.height) {}

  Screen Draw() {
    int first = 1, last = screen_.height();  // Free rows: [first, last).
    DrawSummary();
    if (options_.keys && last >= kForKeys) DrawBottom(--last);
    if (model_.facts() == nullptr) {
      screen_.Put(first, 1, "asking the services ...");
      return screen_;
    }
    if (HasRoomFor(kForServices)) DrawServices(first++);
    if (HasRoomFor(kForNodes)) first = DrawNodes(first);
    if (model_.mode() == Model::Mode::kHelp) {
      DrawHelp(first, last);
      return screen_;
    }
    if (model_.shows_output() && last - first >= kForOutput) {
      const int rows = (last - first) / 2;
      DrawOutput(last - rows, last);
      last -= rows;
    }
    const std::string metric = model_.metric();
    if (!metric.empty() && HasRoomFor(kForMetric)) DrawMetric(--last, metric);
    DrawTable(first, last);
    return screen_;
  }

 private:
  // A frame for a file has no height limit.
  bool HasRoomFor(int rows) const { return !options_.keys || screen_.height() >= rows; }

  void DrawSummary() {
    std::string text = " yard top";
    if (const Facts* const facts = model_.facts(); facts != nullptr) {
      std::size_t tasks = 0;
      double cores = 0;
      std::uint64_t memory = 0;
      for (const auto& [task, used] : facts->rates.cores) cores += used;
      for (const auto& task : facts->usage.tasks) memory += task->rss_bytes;
      tasks = facts->usage.tasks.size();
      absl::StrAppend(&text, "  ", Count(tasks, "task"), "  cpu ", Percent(cores));
      // Totals of this machine and of the connected nodes whose tasks are counted.
      std::uint64_t all_cores = facts->usage.cores, all_memory = facts->usage.memory_bytes;
      for (const msg::NodeT& node : facts->nodes) {
        if (node.state == msg::NodeState::Away) continue;
        all_cores += node.cpus;
        all_memory += node.memory_bytes;
      }
      if (facts->usage.cores > 0) absl::StrAppend(&text, " of ", all_cores * 100, "%");
      absl::StrAppend(&text, "  mem ", ShortBytes(memory));
      if (facts->usage.memory_bytes > 0) absl::StrAppend(&text, " of ", ShortBytes(all_memory));
      absl::StrAppend(&text, GpuWords(*facts));
    }
    const int end = screen_.Put(0, 0, text, Style::kReverse);
    if (model_.facts() != nullptr) {
      const std::string time = absl::FormatTime("%H:%M:%S", model_.facts()->at, options_.zone);
      const int place = screen_.width() - static_cast<int>(time.size()) - 1;
      if (place > end + 1) screen_.Put(0, place, time, Style::kReverse);
    }
    screen_.Paint(0, Style::kReverse);
  }

  void DrawServices(int row) {
    int column = 1;
    for (const ServiceRow& service : model_.facts()->services) {
      const bool is_up = service.state == "up";
      column = screen_.Put(row, column, service.service + " ");
      column = screen_.Put(row, column, service.state, is_up ? Style::kGood : Style::kBad);
      if (service.restarts > 0) {
        column = screen_.Put(row, column, absl::StrCat(", ", Count(service.restarts, "restart")));
      }
      column += 2;
    }
  }

  // Draws a line for each node: "node gpu1 of lab connected  2 of 8 slots  1 of 4 gpus". Returns
  // the next free row.
  int DrawNodes(int row) {
    const auto& nodes = model_.facts()->nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (i == kMostNodes) {
        screen_.Put(row, 1, absl::StrCat("and ", nodes.size() - i, " more nodes: yard pool"));
        return row + 1;
      }
      const msg::NodeT& node = nodes[i];
      int column = screen_.Put(row, 1, absl::StrCat("node ", node.name, " of ", node.pool, " "));
      column = screen_.Put(row, column, NameOfNodeState(node.state),
                           node.state == msg::NodeState::Away ? Style::kBad : Style::kGood);
      std::string text = absl::StrCat("  ", node.slots_used, " of ", Count(node.slots, "slot"));
      if (!node.gpus.empty()) {
        absl::StrAppend(&text, "  ", node.gpus_used, " of ", Count(node.gpus.size(), "gpu"));
      }
      if (!node.why.empty()) absl::StrAppend(&text, "  ", runtime::Printable(node.why));
      screen_.Put(row++, column, text);
    }
    return row;
  }

  void DrawTable(int first, int last) {
    if (first >= last) return;
    const auto& rows = model_.rows();
    const auto any = [&](auto has) { return std::any_of(rows.begin(), rows.end(), has); };
    const Shown shown = {screen_.width() >= kForGpu &&
                             any([](const auto& row) { return row.gpu_percent.has_value(); }),
                         screen_.width() >= kForDisk &&
                             any([](const auto& row) { return row.disk_bytes_per_s.has_value(); })};
    const std::vector<Column> columns = Columns(screen_.width(), shown);
    std::vector<std::string> titles;
    for (const Column& column : columns) titles.emplace_back(column.title);
    DrawCells(first++, columns, titles, Style::kBold);
    if (rows.empty() && first < last) {
      screen_.Put(first, 1,
                  model_.filter().empty() ? "nothing runs; next: yard run -- PROGRAM ..."
                                          : "nothing matches");
    }
    if (first >= last) return;
    // Shows the page that contains the selected row.
    const auto page = static_cast<std::size_t>(last - first);
    for (std::size_t i = model_.place() / page * page; i < rows.size() && first < last; ++i) {
      DrawRow(first++, columns, shown, rows[i], i == model_.place());
    }
  }

  void DrawRow(int row, const std::vector<Column>& columns, const Shown& shown,
               const TableRow& thing, bool selected) {
    std::vector<std::string> cells = {NameCell(thing), thing.state,
                                      thing.age.has_value() ? ShortDuration(*thing.age) : "-",
                                      thing.cores.has_value() ? Percent(*thing.cores) : "-"};
    const auto& gpu = thing.gpu_percent;
    if (shown.gpu) cells.push_back(gpu.has_value() ? Percent(*gpu / 100) : "-");
    cells.push_back(thing.memory_bytes.has_value() ? ShortBytes(*thing.memory_bytes) : "-");
    const auto& disk = thing.disk_bytes_per_s;
    if (shown.disk) {
      cells.push_back(disk.has_value() ? ShortBytes(static_cast<std::uint64_t>(*disk)) : "-");
    }
    cells.push_back(absl::StrCat(thing.restarts));
    cells.push_back(Details(thing, model_.metric()));
    DrawCells(row, columns, cells, StyleOf(thing));
    if (!selected || !options_.keys) return;
    screen_.Put(row, 0, ">");
    screen_.Paint(row, Style::kReverse);
  }

  void DrawCells(int row, const std::vector<Column>& columns, const std::vector<std::string>& cells,
                 Style style) {
    int place = 1;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Column& column = columns[i];
      const std::string cell = FitText(runtime::Printable(cells[i]), column.width);
      const int indent = column.right ? column.width - TextWidth(cell) : 0;
      screen_.Put(row, place + indent, cell, style);
      place += column.width + 1;
    }
  }

  void DrawMetric(int row, const std::string& metric) {
    const TableRow& selected = *model_.selected();
    const std::vector<double> values = model_.values();
    const std::string name = runtime::Printable(metric) + " ";
    const int place = screen_.Put(row, 1, FitText(name, screen_.width() / 3), Style::kBold);
    std::string range;
    double low = INFINITY, high = -INFINITY;
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    if (low <= high) range = absl::StrCat("  ", ShortNumber(low), " to ", ShortNumber(high));
    const int room = screen_.width() - place - static_cast<int>(range.size()) - 1;
    const int end = screen_.Put(row, place, Sparkline(values, std::min(room, 120)), Style::kGood);
    screen_.Put(row, end, values.empty() ? "of " + selected.subject.trial : range);
  }

  void DrawOutput(int first, int last) {
    const Facts& facts = *model_.facts();
    const TableRow* const selected = model_.selected();
    const std::string of = selected == nullptr ? "" : selected->subject.output_of;
    const std::string title =
        of.empty() ? "no output yet "
                   : absl::StrCat("output of ", runtime::Printable(selected->title), " ");
    const int end = screen_.Put(first, 1, title, Style::kBold);
    for (int column = end; column < screen_.width() - 1; ++column) screen_.Put(first, column, "-");
    if (of.empty() || facts.output_of != of) return;
    const auto room = static_cast<std::size_t>(std::max(last - first - 1, 0));
    const std::size_t skipped = facts.output.size() - std::min(facts.output.size(), room);
    for (std::size_t i = skipped; i < facts.output.size(); ++i) {
      screen_.Put(++first, 1, facts.output[i]);
    }
  }

  void DrawHelp(int first, int last) {
    for (std::size_t i = 0; i < std::size(kHelp) && first < last; ++i) {
      screen_.Put(first++, 1, kHelp[i]);
    }
    if (first < last) screen_.Put(first + 1 < last ? first + 1 : first, 1, "any key: back");
  }

  void DrawBottom(int row) {
    switch (model_.mode()) {
      case Model::Mode::kConfirm:
        screen_.Put(row, 1, model_.Question(), Style::kBold);
        return;
      case Model::Mode::kFilter:
        screen_.Put(row, 1, "/" + model_.filter() + "_", Style::kBold);
        return;
      default:
        break;
    }
    if (!model_.message().empty()) {
      screen_.Put(row, 1, model_.message(), Style::kWarning);
    } else if (const Facts* const facts = model_.facts(); facts != nullptr && !facts->why.ok()) {
      screen_.Put(row, 1, std::string(facts->why.message()), Style::kBad);
    } else {
      const std::string filter = model_.filter().empty() ? "" : "  [" + model_.filter() + "]";
      screen_.Put(row, 1, "q quit  / filter  l logs  m metric  s stop  r restart  ? help" + filter,
                  Style::kDim);
    }
  }

  const Model& model_;
  const ViewOptions options_;
  Screen screen_;
};

}  // namespace

Screen Draw(const Model& model, const ViewOptions& options) {
  return Drawing(model, options).Draw();
}

int HeightOfAll(const Model& model) {
  // Summary, services, titles, rows (or one line instead), metric.
  const int rows = std::max(static_cast<int>(model.rows().size()), 1);
  return 3 + rows + (model.metric().empty() ? 0 : 1);
}

}  // namespace yard::top
