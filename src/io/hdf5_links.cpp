// Lists the datasets of a file, through groups. Links into other files are refused: samples
// that come from a stranger could point to any file of the user. Groups may contain themselves,
// so depth and number are bounded.
#include "io/hdf5_links.h"

namespace tare::hdf5 {
namespace {

// Files may link groups into themselves; both bounds are far above what model inputs need.
constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxLinks = 4096;

struct Link {
  std::string name;
  bool is_external = false;
};

/// Data of the dataset that lie in other files, which may be any files of the user.
void require_inside(const Handle& dataset, const std::string& name) {
  const Handle properties = owned(H5Dget_create_plist(dataset.get()), "its storage");
  const bool is_virtual = H5Pget_layout(properties.get()) == H5D_VIRTUAL;
  if (is_virtual || checked(H5Pget_external_count(properties.get()), "its storage") != 0) {
    throw Error(ErrorCode::kInvalidData, "'" + name + "'", "has its elements in other files")
        .expected("a dataset that holds them");
  }
}

herr_t take_link(hid_t, const char* name, const H5L_info_t* info, void* links) {
  auto& list = *static_cast<std::vector<Link>*>(links);
  list.push_back({name, info->type != H5L_TYPE_HARD && info->type != H5L_TYPE_SOFT});
  return list.size() < kMaxLinks ? 0 : 1;
}

class Walk {
 public:
  std::vector<NamedDataset> take() { return std::move(found_); }

  void group(const Handle& group, const std::string& prefix, int depth) {
    std::vector<Link> links;
    checked(H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, take_link, &links),
            "its list of datasets cannot be read");
    links_ += links.size();
    if (links_ >= kMaxLinks || depth > kMaxDepth) {
      throw Error(ErrorCode::kInvalidData, "", "has too many or too deeply nested groups")
          .expected("one dataset per model input");
    }
    for (const Link& link : links) {
      entry(group, link, prefix + link.name, depth);
    }
  }

 private:
  void entry(const Handle& parent, const Link& link, const std::string& name, int depth) {
    if (link.is_external) {
      throw Error(ErrorCode::kInvalidData, "'" + name + "'", "is a link into another file")
          .expected("a dataset");
    }
    Handle object = owned(H5Oopen(parent.get(), link.name.c_str(), H5P_DEFAULT),
                          "'" + name + "' cannot be opened");
    switch (H5Iget_type(object.get())) {
      case H5I_DATASET:
        require_inside(object, name);
        found_.push_back({name, std::move(object)});
        break;
      case H5I_GROUP:
        group(object, name + "/", depth + 1);
        break;
      default:
        break;  // a named type holds no samples
    }
  }

  std::vector<NamedDataset> found_;
  std::size_t links_ = 0;
};

}  // namespace

std::vector<NamedDataset> datasets(const Handle& file) {
  Walk walk;
  walk.group(file, "", 0);
  return walk.take();
}

}  // namespace tare::hdf5
