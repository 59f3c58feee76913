// The seed documents' cases that the Python module passes are transliterated, all of them; tests/python/not_yet.txt lists the others.
#include <algorithm>

#include "tests/cpp/snippet.h"

using namespace braze::recorded;

TEST_CASE("each case of the seed documents has its C++ text") {
  // What only Python has.
  const std::vector<std::string> pythons_own = {
      "seed_000/numpy_of_grad_tensor_raises",       // numpy()
      "seed_002/detach_to_numpy",                   // NumPy's text of an array
      "seed_000/conv_has_no_channel_dim_argument",  // a keyword that no function has
  };
  const std::vector<std::string> later = not_yet_cases();
  std::vector<std::string> missing;
  const auto lists = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const std::string& name : kit_cases("seed_"))
    if (!lists(snippets(), name) && !lists(pythons_own, name) && !lists(later, name)) missing.push_back(name);
  CHECK(missing == std::vector<std::string>());
}
