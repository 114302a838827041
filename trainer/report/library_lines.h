#ifndef TRAINER_REPORT_LIBRARY_LINES_H_
#define TRAINER_REPORT_LIBRARY_LINES_H_

#include <optional>
#include <string>
#include <string_view>

namespace trainer {

// The lines in which Python libraries print how their training goes. Each function takes one line
// without its end and returns its metrics as a compact JSON object; nothing if it is no such line.
// At most 1,000 values a line, the later ones are passed over. Linear time; pure; any thread.

// Keras, of an epoch that is over: "15/15 - 1s - 93ms/step - loss: 3.31 - val_loss: 2.25", also
// with a bar in it (verbose=1).
std::optional<std::string> KerasMetrics(std::string_view line);
// XGBoost: "[3]\ttrain-rmse:1.00\teval-rmse:1.03" gives step, train/rmse and eval/rmse; of its cv()
// "test-rmse:1.5+0.1" also test/rmse-std.
std::optional<std::string> XgboostMetrics(std::string_view line);
// LightGBM: "[3]\ttraining's l2: 2.4\tvalid_1's l2: 4.7" gives step, training/l2 and valid_1/l2; of
// its cv() "valid's l2: 3.5 + 0.5" also valid/l2-std.
std::optional<std::string> LightgbmMetrics(std::string_view line);
// A dictionary as Python prints it: "{'loss': 0.69, 'epoch': 1.0}". Texts that are numbers count as
// numbers, and so do "np.float64(0.5)" and "tensor(0.5, device='cpu')".
std::optional<std::string> DictionaryMetrics(std::string_view line);

// A state of a bar of tqdm: "epoch 1:  25%|##  | 1/4 [00:00<00:01, 9.1it/s, loss=0.5]".
struct BarState {
  std::string place;     // How far it is: "1/4".
  bool is_edge = false;  // Nothing of it, or all: it may say what another state has said.
  std::string metrics;   // NAME=NUMBER of it, a compact JSON object.
};
// Nothing also for a bar without values.
std::optional<BarState> TqdmState(std::string_view text);

// NAME=NUMBER, wherever it stands in the line (output_format.h).
std::optional<std::string> NamedValues(std::string_view text);

// Without the control characters, and the codes that colour a text or move the cursor.
std::string WithoutTerminalCodes(std::string_view text);

}  // namespace trainer

#endif  // TRAINER_REPORT_LIBRARY_LINES_H_
