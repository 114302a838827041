#ifndef TRAINER_REPORT_LIBRARY_LINES_H_
#define TRAINER_REPORT_LIBRARY_LINES_H_

#include <optional>
#include <string>
#include <string_view>

namespace trainer {

// Readers of the lines in which Python libraries print their progress. Each function takes one line
// without its newline and returns its metrics as a compact JSON object, or nullopt if the line has
// another form. A line has at most 1,000 values; further ones are dropped. Linear time; pure; any
// thread.

// Keras, at the end of an epoch: "15/15 - 1s - 93ms/step - loss: 3.31 - val_loss: 2.25", also with
// a progress bar in it (verbose=1).
std::optional<std::string> KerasMetrics(std::string_view line);
// XGBoost: "[3]\ttrain-rmse:1.00\teval-rmse:1.03" gives step, train/rmse and eval/rmse. The output
// of its cv(), "test-rmse:1.5+0.1", also gives test/rmse-std.
std::optional<std::string> XgboostMetrics(std::string_view line);
// LightGBM: "[3]\ttraining's l2: 2.4\tvalid_1's l2: 4.7" gives step, training/l2 and valid_1/l2.
// The output of its cv(), "valid's l2: 3.5 + 0.5", also gives valid/l2-std.
std::optional<std::string> LightgbmMetrics(std::string_view line);
// A dictionary as Python prints it: "{'loss': 0.69, 'epoch': 1.0}". Strings that are numbers count
// as numbers, and so do "np.float64(0.5)" and "tensor(0.5, device='cpu')".
std::optional<std::string> DictionaryMetrics(std::string_view line);

// One state of a tqdm progress bar: "epoch 1:  25%|##  | 1/4 [00:00<00:01, 9.1it/s, loss=0.5]".
struct BarState {
  std::string place;     // Position of the bar: "1/4".
  bool is_edge = false;  // At 0% or 100%: it may repeat another state.
  std::string metrics;   // Its NAME=NUMBER pairs, a compact JSON object.
};
// Also returns nullopt for a bar without values.
std::optional<BarState> TqdmState(std::string_view text);

// Returns the NAME=NUMBER pairs anywhere in the line (output_format.h).
std::optional<std::string> AssignedMetrics(std::string_view text);

// Removes control characters, and the escape codes that colour text or move the cursor.
std::string WithoutTerminalCodes(std::string_view text);

}  // namespace trainer

#endif  // TRAINER_REPORT_LIBRARY_LINES_H_
