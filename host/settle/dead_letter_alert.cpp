// The text of a dead letter's alert.
#include "settle/dead_letter_alert.h"

namespace waybill {

DeadLetterAlert dead_letter_alert(const AlertOrigin& origin, const Contract& contract, const std::string& reason) {
  const std::string& target = contract.is_of_form() ? contract.form_id : contract.target;
  if (contract.stage)
    return {contract.stage->pipeline + "/" + contract.stage->state + ":" + reason,
            "submission " + origin.client_ref + " of pipeline " + contract.stage->pipeline + ": " + contract.target +
                " in state " + contract.stage->state + " (" + contract.action_type + ") ended as " + reason};
  const std::string order = std::to_string(origin.action_order);
  return {target + "/" + order + ":" + reason, origin.kind + " " + origin.client_ref + ": " + target + ", action " + order +
                                                   " (" + contract.action_type + ") ended as " + reason};
}

}  // namespace waybill
