#ifndef TRAINER_RUN_EXPERIMENT_ID_H_
#define TRAINER_RUN_EXPERIMENT_ID_H_

#include <string>

namespace trainer {

// A new one: 32 random hexadecimal digits, as Ray Tune's, of which the first is a letter. It stands
// in tables whose readers guess types, and to them "98e4..." would be a number (pandas gives a
// wrong one, or dies of its exponent). Any thread.
std::string NewExperimentId();

}  // namespace trainer

#endif  // TRAINER_RUN_EXPERIMENT_ID_H_
