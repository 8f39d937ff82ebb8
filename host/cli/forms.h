// `waybill form ...`: what a form's file makes of a submission, without a host and without sending anything.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

struct FormOptions {
  std::string form;
  std::string fields;                 // a file with a JSON object, or - for standard input
  std::string attachments;            // a file with a JSON array as POST /v1/submissions takes it; "": none
  std::string reference = "preview";  // the submissionId
};

// Runs each action's plugin once, with a stand-in for relays and receivers that takes everything; prints its verdict, what it
// sent to whom, and of a preview each message whole. 1 if intake would refuse the submission, or an action was neither accepted
// nor deferred.
int preview_form(const GlobalOptions& options, const FormOptions& form);
int simulate_form(const GlobalOptions& options, const FormOptions& form);

}  // namespace waybill
