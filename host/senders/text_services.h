// Services for texts: the registry's templates, and links to stored objects.
#pragma once

#include <functional>
#include <memory>

#include "services/gcs_links.h"
#include "templates/templates.h"

namespace waybill {

struct TextServices {
  std::function<std::shared_ptr<const Templates>()> templates;  // [any thread] the present ones
  std::shared_ptr<const GcsLinks> links;                        // null: no key to sign with
};

}  // namespace waybill
