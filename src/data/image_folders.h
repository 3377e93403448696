// Which images lie in which folders.
#pragma once

#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::data {

struct ClassFolder {
  std::string name;                // of the class
  std::vector<std::string> files;  // with their folders, in the order of their names; at least one
};

// Both in the order of the classes' names.
struct ImageFolders {
  std::vector<ClassFolder> train;
  std::vector<ClassFolder> test;  // empty: there are no DIR/train and DIR/test, `train` has all
};

// Files with other endings than .png, .jpg and .jpeg (any case), and hidden ones, are left out; the files are not
// opened. A folder that is not there, no folder in it, and one without images are errors that say what belongs there.
Result<ImageFolders> find_images(const std::string& folder);

}  // namespace yoke::data
