#ifndef TRAINER_STORE_SCHEMA_H_
#define TRAINER_STORE_SCHEMA_H_

#include "runtime/sqlite/database_schema.h"

namespace trainer {

// Returns the tables of trainer.db and the migrations from each earlier version.
runtime::DatabaseSchema NewestSchema();

}  // namespace trainer

#endif  // TRAINER_STORE_SCHEMA_H_
