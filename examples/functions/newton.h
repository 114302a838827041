#ifndef EXAMPLES_FUNCTIONS_NEWTON_H_
#define EXAMPLES_FUNCTIONS_NEWTON_H_

#include "trainer/function/named_values.h"
#include "trainer/function/reporter.h"

// A trainable function: Newton's way to the square root of `target`, a result and a checkpoint an
// iteration, until the loss is tiny. It reads from the configuration `target` (2), `start` (the
// target), `min_ms` that an iteration takes (0).
void Newton(const trainer::NamedValues& config, trainer::Reporter& reporter);

#endif  // EXAMPLES_FUNCTIONS_NEWTON_H_
