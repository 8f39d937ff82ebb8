// What senders of texts are offered beside the network: the registry's templates, and links to stored objects.
#pragma once

#include <functional>
#include <memory>

#include "services/gcs_links.h"
#include "templates/templates.h"

namespace waybill {

struct TextServices {
  std::function<std::shared_ptr<const Templates>()> templates;  // [any thread] those in use now
  std::shared_ptr<const GcsLinks> links;                        // null: there is no key to sign with
};

}  // namespace waybill
