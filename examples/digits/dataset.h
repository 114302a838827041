#ifndef EXAMPLES_DIGITS_DATASET_H_
#define EXAMPLES_DIGITS_DATASET_H_

#include <istream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eigen3/Eigen/Core"

namespace digits {

inline constexpr int kPixels = 64;
inline constexpr int kClasses = 10;

struct Examples {
  int size() const { return static_cast<int>(labels.size()); }

  Eigen::MatrixXf pixels;   // kPixels rows, one column an example; 0 to 1.
  std::vector<int> labels;  // 0 to 9.
};

struct Dataset {
  Examples train;
  Examples test;  // Every fifth row of the file.
};

// Reads rows of 64 pixels (0 to 16) and a digit, all integers, separated by commas.
// InvalidArgument names the first line that is anything else, or says that there are too few.
absl::StatusOr<Dataset> ReadDataset(std::istream& csv);

// Where digits.csv is: in this program's runfiles, in $RUNFILES_DIR, beside this program or in the
// share folder of an installation. Empty if it is in none of them.
std::string FindData();

}  // namespace digits

#endif  // EXAMPLES_DIGITS_DATASET_H_
