#ifndef TRAINER_RUN_EXPERIMENT_ID_H_
#define TRAINER_RUN_EXPERIMENT_ID_H_

#include <string>

namespace trainer {

// Returns a new id: 32 random hexadecimal digits, as Ray Tune's, but the first is a letter. The id
// appears in tables whose readers guess types, and they would take "98e4..." for a number (pandas
// returns a wrong one, or fails on its exponent). Any thread.
std::string NewExperimentId();

}  // namespace trainer

#endif  // TRAINER_RUN_EXPERIMENT_ID_H_
