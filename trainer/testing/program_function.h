#ifndef TRAINER_TESTING_PROGRAM_FUNCTION_H_
#define TRAINER_TESTING_PROGRAM_FUNCTION_H_

#include <string>
#include <vector>

#include "trainer/function/functions.h"

namespace trainer {

// Wraps a program that uses the report channel as a function, so that a FunctionRunner makes a
// trainable of it: the function starts the program with the channel as its fd 3, and plays the
// trainer. While the function is parked in its report, so is the program. For tests: in a yard the
// launcher starts programs and the service answers.
//
// argv[0] is a path. The function fails with the program's exit or with the error that the program
// reported.
TrainableFunction MakeProgramFunction(std::string name, std::vector<std::string> argv);

}  // namespace trainer

#endif  // TRAINER_TESTING_PROGRAM_FUNCTION_H_
