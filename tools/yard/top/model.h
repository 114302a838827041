#ifndef TOOLS_YARD_TOP_MODEL_H_
#define TOOLS_YARD_TOP_MODEL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tools/yard/top/facts.h"
#include "tools/yard/top/keys.h"
#include "tools/yard/top/table_rows.h"

namespace yard::top {

// An action that a key requests and that the model cannot perform itself.
struct Order {
  enum class Kind { kNone, kQuit, kInterrupt, kSuspend, kRedraw, kStop, kRestart };
  Kind kind = Kind::kNone;
  std::string id = {};  // Id of the thing to stop or to restart.
  bool is_trial = false;
  bool is_sweep = false;
  bool operator==(const Order&) const = default;
};

// State of the screen, and the user's position in it: takes facts and keys, returns orders.
// Single-threaded; uses no clock, terminal or bus.
class Model {
 public:
  enum class Mode { kNormal, kFilter, kConfirm, kHelp };

  // `metric` is drawn for trials that have it.
  explicit Model(std::string metric = "") : metric_(std::move(metric)) {}

  // Replaces the facts. The selected row stays selected while it exists.
  void Take(std::shared_ptr<const Facts> facts);
  // Handles a key. Stopping or restarting requires a confirmation; quitting stops nothing.
  Order Press(const Key& key);
  // Shows a message until the next key.
  void Say(std::string message) { message_ = std::move(message); }

  // Null before the first facts.
  const Facts* facts() const { return facts_.get(); }
  // The rows that pass the filter.
  const std::vector<TableRow>& rows() const { return rows_; }
  // Index in rows() of the selected row; 0 if rows() is empty.
  std::size_t place() const { return place_; }
  // Null if rows() is empty.
  const TableRow* selected() const { return rows_.empty() ? nullptr : &rows_[place_]; }
  // Thing whose details the next facts should include.
  Subject subject() const;
  Mode mode() const { return mode_; }
  const std::string& filter() const { return filter_; }
  bool shows_output() const { return shows_output_; }
  const std::string& message() const { return message_; }
  // Returns "stop j-abcde train? y/n".
  std::string Question() const;
  // The drawn metric and its values; both may be empty.
  std::string metric() const;
  // Empty unless the facts are about the selected trial.
  std::vector<double> values() const;

 private:
  void Filter();
  void Move(std::ptrdiff_t by);
  void Ask(Order::Kind kind);
  void NextMetric();
  Order PressNormal(const Key& key);
  Order PressText(const std::string& text);
  void PressFilter(const Key& key);

  std::shared_ptr<const Facts> facts_;
  std::vector<TableRow> all_, rows_;
  std::size_t place_ = 0;
  std::string selected_;  // Id of the selected row, because indexes change.
  Mode mode_ = Mode::kNormal;
  std::string filter_, metric_, message_;
  bool shows_output_ = false;
  Order asked_;
  std::string asked_name_;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_MODEL_H_
