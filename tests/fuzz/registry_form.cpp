// forms/*.yaml: a form or problems that name their place.
#include "fuzz/fuzz.h"
#include "registry/forms_file.h"
#include "unit/registry/fake_action_types.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  static const testing::FakeActionTypes types;
  const FormContext context{types, [](const std::string& id) { return id == "receipt"; }};
  const auto form = read_form(std::string(fuzz::text_of(data, size)), "forms/a.yaml", context);
  if (!form) {
    fuzz::promise(!form.error().empty(), "a refused form has a problem");
    for (const auto& problem : form.error()) fuzz::promise(problem.file == "forms/a.yaml", "a problem names its file");
    return 0;
  }
  fuzz::promise(!form->id.empty() && !form->actions.empty(), "a form has a name and something to do");
  return 0;
}
