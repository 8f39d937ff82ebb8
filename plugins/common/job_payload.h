// Fields of a job that its sender reads itself, written by the stage before it or by a client.
#pragma once

#include <initializer_list>

#include "common/json.h"

namespace waybill::plugins {

// The first of these names that has text; "" if none has. Null counts as absent; `problem` ends the sentence "the payload ...".
std::string text_of(const Json& object, std::initializer_list<const char*> names, std::string& problem);

// What people search by: the job's own reference, else that of its metadata, else the submission's.
std::string reference_of(const Json& job, std::string_view context, std::string& problem);

}  // namespace waybill::plugins
