#ifndef TRAINER_STORE_SCHEMA_H_
#define TRAINER_STORE_SCHEMA_H_

#include "runtime/sqlite/database_schema.h"

namespace trainer {

// The tables of trainer.db, and how those of each earlier version become them.
runtime::DatabaseSchema NewestSchema();

}  // namespace trainer

#endif  // TRAINER_STORE_SCHEMA_H_
